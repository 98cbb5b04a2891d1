// A model with batches of random tokens of a given form: what benches, plans and gyre inspect run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "models/config.h"
#include "tools/bench/text_lengths.h"
#include "train/options.h"

namespace gyre {

class Workload {
 public:
  virtual ~Workload() = default;
  virtual Parameters& parameters() = 0;
  virtual std::string batches() const = 0;  // in words
  virtual bool varies() const = 0;          // batches differ in size
  // Makes the batch of this step, a pure function of its number; returns its tokens, on all sides.
  virtual int64_t draw(uint64_t step) = 0;
  // Of the batch drawn last.
  virtual LossResult loss(Tape& tape) const = 0;

  const OptimizerOptions& optimizer() const { return optimizer_; }

 protected:
  OptimizerOptions optimizer_;
};

// Where its parameters lie; f64 is for gradient checks.
struct WorkloadPlace {
  Device device;
  DType dtype = DType::f32;
};

// Pairs of sentences, batch by batch in turn; `text` says what they are like.
std::unique_ptr<Workload> translation_workload(const EncoderDecoderConfig& config, const OptimizerOptions& optimizer,
                                               std::vector<TokenBatch> batches, std::string text, WorkloadPlace place);
// Batches of one form: so many pairs of `length` tokens a side; segments of `length` tokens, of which 15 % are masked
// unless the model is causal; texts of `length` tokens with a label each.
std::unique_ptr<Workload> translation_workload(const EncoderDecoderConfig& config, int pairs, int length,
                                               WorkloadPlace place);
std::unique_ptr<Workload> language_workload(const EncoderOnlyConfig& config, int segments, int length,
                                            WorkloadPlace place);
std::unique_ptr<Workload> classification_workload(const ClassifierConfig& config, int texts, int length,
                                                  WorkloadPlace place);

// Adam with a constant learning rate, 1e-4.
OptimizerOptions constant_rate(const std::string& kind, double beta2);

}  // namespace gyre
