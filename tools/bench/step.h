// gyre bench step: whole training steps of a workload - batch, forward, backward, optimizer - on this process alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "autograd/profile.h"
#include "core/kernels.h"
#include "tools/bench/step_presets.h"

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
  double step_seconds = 0;  // the median
  double flops = 0;         // a second
  double limit_flops = 0;
  double peak_rss_mb = 0, peak_gpu_mb = 0;
  int64_t parameters = 0;
  std::string batches;
  std::vector<ProfileRow> profile{};  // of one step, when it was asked for
};

// Two steps warm up. A step ends when a GPU is done with it, and with a profile so does every op. Throughput is that of
// the median step, or of all steps together where batches differ in size. FLOPs are the model's own: backward counts
// twice forward.
StepReport run_step_bench(Kernels& kernels, const StepBench& bench);

nlohmann::ordered_json to_json(const StepReport& report);
// Where the time of a step goes, a row per op.
nlohmann::ordered_json rows_json(const StepReport& report);
void print_rows(const StepReport& report);

}  // namespace gyre
