// Training workloads of `gyre bench step`: a model, its training options, and batches of random tokens.
//
//   mlm-small      encoder-only, d 256, 4 heads, ffn 1024, 4 layers, vocabulary 8192; 16 segments of 256 tokens
//   nmt-base       transformer-base, post-norm, vocabulary 32768; 16 pairs of 32 + 32 tokens
//   lm-small       the size of mlm-small, causal, every token predicted; 8 segments of 512 tokens
//   llama-tiny     the preset of gyre train lm, vocabulary 8192; 8 segments of 512 tokens
//   llama-160m     the preset, vocabulary 32000; 2 segments of 512 tokens
//   neox-160m      the preset, vocabulary 50304; 2 segments of 512 tokens
//   multi30k-tiny  as in tools/recipes/multi30k-tiny.toml, vocabulary 10000; token batches with lengths of a real text
//
// Batches that fill a GPU:
//
//   nmt-base-25k   nmt-base; 833 pairs of 25 to 35 tokens per side, about 25,000 + 25,000 in total
//   nmt-big-25k    transformer-big with the same batches
//   mlm-base-32k   size of BERT base, vocabulary 30522; 64 segments of 512 tokens
//   llama-160m-32k llama-160m; 32 segments of 1,024 tokens
//
// The default position encoding is RoPE. Masked language models mask 15 % of the tokens.
// tools/bench/peers/torch_models.py implements the same workloads in PyTorch, except that of GPT-NeoX.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "tools/workload/workload.h"

namespace gyre {

// Settings that the presets do not fix.
struct StepVariant {
  Path text;  // multi30k-tiny takes its lengths from PREFIX.en and PREFIX.de
  PositionConfig position;
  AttentionConfig attention;
  Recompute recompute = Recompute::none;
};

std::vector<std::string> step_presets();

// Creates the workload of one of step_presets(), with its parameters allocated on the device. Throws Error for an
// unknown name.
std::unique_ptr<Workload> make_workload(const std::string& preset, const StepVariant& variant, Device device);

}  // namespace gyre
