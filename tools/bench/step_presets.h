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

#include <memory>
#include <string>
#include <vector>

#include "core/file.h"
#include "tools/workload.h"

namespace gyre {

// What a preset leaves open.
struct StepVariant {
  Path text;  // PREFIX of the lengths of multi30k-tiny
  PositionConfig position;
  AttentionConfig attention;
};

std::vector<std::string> step_presets();

// One of step_presets(), with its parameters allocated on the device.
std::unique_ptr<Workload> make_workload(const std::string& preset, const StepVariant& variant, Device device);

}  // namespace gyre
