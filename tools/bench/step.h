// gyre bench step: measures whole training steps of a workload: forward, backward, sums over the ranks, optimizer.
#pragma once

#include <string>
#include <vector>

#include "gyre/autograd/inspect/timeline.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/communicator.h"
#include "tools/bench/step_presets.h"
#include "tools/workload/gpu/gpu_forecast.h"

namespace gyre {

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

}  // namespace gyre
