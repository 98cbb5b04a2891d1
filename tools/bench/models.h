// Benchmarks of models: whole training steps, and beam search over many sentences.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gyre/autograd/inspect/timeline.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/communicator.h"
#include "tools/workload/gpu_forecast.h"
#include "tools/workload/workload.h"

namespace gyre {

// ---- The workloads of gyre bench step ------------------------------------------------------------------------------
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

// gyre bench step measures whole training steps of a workload: forward, backward, sums over the ranks, optimizer.
struct StepBench {
  std::string preset = "nmt-base";
  StepVariant variant;
  Precision precision = Precision::fp32;
  int steps = 10;
  bool profile = false;
};

struct StepReport {
  double tokens_per_second = 0;
  double tokens_per_step = 0;  // mean, on all sides
  double step_seconds = 0;     // median, or mean on a GPU
  double flops = 0;            // FLOP/s
  double limit_flops = 0;      // sum over all ranks
  double own_limit_flops = 0;  // limit of this rank, whose ops the profile has
  int ranks = 1;  // number of ranks: tokens, FLOPs and limits are added up, and the times are those of the slowest one
  double peak_rss_mb = 0, peak_gpu_mb = 0;
  double activations_mb = 0;  // peak memory of tensors, without those that stay between steps
  int64_t parameters = 0;
  std::string batches;
  std::vector<ProfileRow> profile{};  // rows of one step, if requested
  StepPrediction predicted{};         // prediction of that step, if requested
};

// Creates all batches and runs two warm-up steps before the clock starts. A GPU's steps are queued one after another
// and timed together; with a profile, the clock waits for every op. Throughput is that of the median step, or of all
// steps together if batches differ in size. FLOPs are those of the model: backward counts twice as much as forward.
// Collective; with several ranks, memory is the most of any rank.
StepReport run_step_bench(Kernels& kernels, Communicator& ranks, const StepBench& bench);

Json to_json(const StepReport& report);
// The time of a step by op, one row each.
Json rows_json(const StepReport& report);
void print_rows(const StepReport& report);

// gyre bench decode measures beam search over many sentences.
struct DecodeBench {
  Path model, input;  // trained model and text; empty: transformer-tiny with random weights and random tokens
  Path text;          // PREFIX.en has the source lengths of random tokens; empty: the synthetic corpus
  int sentences = 500;
  int beam_size = 4;
  Precision precision = Precision::fp32;
  int repetitions = 3;
};

struct DecodeReport {
  std::string workload;  // description
  size_t sentences = 0;
  double output_tokens = 0;  // tokens of the best hypotheses, including EOS
  double seconds = 0;        // median
  double flops = 0;          // FLOP/s of encoder, decoder and output projection of every hypothesis at every step
  double limit_flops = 0;
  double peak_rss_mb = 0, peak_gpu_mb = 0;
};

// Random weights never select EOS, so every translation has as many tokens as its source.
DecodeReport run_decode_bench(Kernels& kernels, const DecodeBench& bench);
Json to_json(const DecodeReport& report);

}  // namespace gyre
