// A model with batches of random tokens, for gyre bench, gyre plan and gyre inspect, and the lengths of real sentence
// pairs. tools/bench/peers/torch_models.py forms the same batches.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/core/io/file.h"
#include "gyre/models/config/config.h"
#include "gyre/train/options.h"

namespace gyre {

// Lengths in tokens: words and the end of sentence.
struct PairLengths {
  int32_t source = 0, target = 0;
  auto operator<=>(const PairLengths&) const = default;
};

using TokenBatch = std::vector<PairLengths>;

// Lengths of the lines of PREFIX.en and PREFIX.de, or of the synthetic corpus if the prefix is empty. Throws Error for
// unequal numbers of lines.
std::vector<PairLengths> read_lengths(const Path& prefix);
std::string describe_text(const Path& prefix);

// Sorts the pairs and fills batches until the longest sentence times the number of pairs reaches 4096. An incomplete
// last batch is dropped. The batches are ordered by mix(0, number). Throws Error if there is no full batch.
std::vector<TokenBatch> token_batches(std::vector<PairLengths> pairs);

// Batches of pairs whose sides have 25 to 35 tokens, uniformly distributed: 25 + mix(batch, number of the side) % 11.
std::vector<TokenBatch> random_batches(size_t batches, size_t pairs);

class Workload {
 public:
  virtual ~Workload() = default;
  virtual Parameters& parameters() = 0;
  virtual std::string batches() const = 0;  // description of the batches
  virtual bool varies() const = 0;          // whether batches differ in size
  // Creates the batch of this step, a pure function of its number. Returns its number of tokens, on all sides.
  virtual int64_t draw(uint64_t step) = 0;
  // Creates the batches of steps 0 to `steps` - 1 now, so that draw() only selects one of them.
  virtual void draw_ahead(uint64_t steps) = 0;
  // Computes the loss of the batch drawn last.
  virtual LossResult loss(Tape& tape) const = 0;

  const OptimizerOptions& optimizer() const { return optimizer_; }

  // The activations that training steps compute again.
  Recompute recompute() const { return recompute_; }
  void set_recompute(Recompute recompute) { recompute_ = recompute; }

 protected:
  OptimizerOptions optimizer_;

 private:
  Recompute recompute_ = Recompute::none;
};

// Device and data type of the parameters. Gradient checks use f64.
struct ParameterOptions {
  Device device;
  DType dtype = DType::f32;
};

// Sentence pairs of the given lengths, cycling through `batches`. `text` describes them.
std::unique_ptr<Workload> translation_workload(const EncoderDecoderConfig& config, const OptimizerOptions& optimizer,
                                               std::vector<TokenBatch> batches, std::string text,
                                               ParameterOptions parameter_options);
// Batches of equal size: pairs with `length` tokens per side, with R-Drop if r_drop > 0; segments of `length` tokens,
// of which 15 % are masked unless the model is causal; texts of `length` tokens with a label each.
std::unique_ptr<Workload> translation_workload(const EncoderDecoderConfig& config, int pairs, int length,
                                               ParameterOptions parameter_options, double r_drop = 0);
std::unique_ptr<Workload> language_workload(const EncoderOnlyConfig& config, int segments, int length,
                                            ParameterOptions parameter_options);
std::unique_ptr<Workload> classification_workload(const ClassifierConfig& config, int texts, int length,
                                                  ParameterOptions parameter_options);

// Creates the workload of a batch of so many items, with its parameters on the device.
using MakeBatch = std::function<std::unique_ptr<Workload>(int items, Device device)>;

// Throws a UsageError for --vocab-size if there would be no words besides the special tokens.
void expect_vocabulary(int64_t pieces);

// Options of the optimizer `kind` with the constant learning rate 1e-4 and gradient clipping.
OptimizerOptions constant_rate(const std::string& kind, double beta2);

}  // namespace gyre
