// Plans a training job on GPUs of one kind: plan_row() with the costs of gpu_forecast.h.
#pragma once

#include <vector>

#include "tools/workload/gpu_forecast.h"
#include "tools/workload/plan.h"

namespace gyre {

// A job as the options describe it.
struct GpuJob {
  PlanLoad load;
  std::function<std::unique_ptr<Workload>(int items, Device device)> make;
  double item_tokens = 1;  // tokens of an item (a pair or a segment), on all sides
  OptimizerOptions optimizer;
  Precision precision = Precision::bf16;
  Scaling scaling = Scaling::strong;
};

struct GpuPlanRow {
  PlanRow plan;
  GpuForecast forecast;  // of one micro-batch and the optimizer, on one GPU
  double tokens = 0;     // of all GPUs
  // The first number of micro-batches per GPU and step with which the memory suffices, of that of the job, twice it,
  // four times it and so on; 0 if there is none.
  int fitting_micro_batches = 0;
  bool fits(const PlanLoad& load) const { return fitting_micro_batches == load.micro_batches_per_rank; }
};

std::vector<GpuPlanRow> plan_gpus(const GpuJob& job, const GpuModel& model, const std::vector<int>& gpus);

}  // namespace gyre
