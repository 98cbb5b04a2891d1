// The training workloads of `gyre bench step`: a model, how it is trained, and batches of random tokens.
//
//   mlm-small      encoder-only, d 256, 4 heads, ffn 1024, 4 layers, 8192 pieces; 16 segments of 256 tokens
//   nmt-base       transformer-base, post-norm, 32768 pieces; 16 pairs of 32 + 32 tokens
//   lm-small       the same size, causal, every token predicted; 8 segments of 512 tokens
//   multi30k-tiny  as tools/recipes/multi30k-tiny.toml, 10000 pieces; token batches of the lengths of a real text
//
// Batches that fill a GPU:
//
//   nmt-base-25k   nmt-base; 833 pairs of 25 to 35 tokens a side, 25,000 + 25,000 together
//   nmt-big-25k    transformer-big, the same batches
//   mlm-base-32k   BERT's base size, 30522 pieces; 64 segments of 512 tokens
//
// With RoPE where nothing else is asked for; 15 % of the tokens of a masked language model are masked.
// tools/bench/torch_models.py has the same ones in PyTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "core/file.h"
#include "models/config.h"
#include "train/options.h"

namespace gyre {

class StepWorkload {
 public:
  virtual ~StepWorkload() = default;
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

// What a preset leaves open.
struct StepVariant {
  Path text;  // PREFIX of the lengths of multi30k-tiny
  PositionConfig position;
  AttentionConfig attention;
};

std::vector<std::string> step_presets();

// Batches of one form: so many pairs of `length` tokens a side, or segments of `length` tokens.
std::unique_ptr<StepWorkload> translation_workload(const EncoderDecoderConfig& config, int pairs, int length,
                                                   Device device);
std::unique_ptr<StepWorkload> language_workload(const EncoderOnlyConfig& config, int segments, int length,
                                                Device device);

// One of step_presets(), with its parameters allocated on the device.
std::unique_ptr<StepWorkload> make_step_workload(const std::string& preset, const StepVariant& variant, Device device);

}  // namespace gyre
