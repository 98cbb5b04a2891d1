// Plans a training job on GPUs of one kind, plan_row() with the costs of gpu_forecast.h, and prints the plan as tables
// or JSON.
#pragma once

#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/train/options.h"
#include "tools/workload/gpu_forecast.h"
#include "tools/workload/plan.h"

namespace gyre {

// A job as the options describe it.
struct GpuJob {
  PlanLoad load;
  MakeBatch make;
  OptimizerOptions optimizer;
  Precision precision = Precision::bf16;
  Scaling scaling = Scaling::strong;
};

struct GpuPlanRow {
  PlanRow plan;
  GpuForecast forecast;  // step of one GPU, with all its micro-batches and without the exchange
  double tokens = 0;     // tokens of all GPUs
  // Tokens of the micro-batch from which a larger one was extrapolated in proportion, or 0.
  double extrapolated_from = 0;
  // The first number of micro-batches per GPU and step with which the memory suffices, of that of the job, twice it,
  // four times it and so on; 0 if there is none.
  int fitting_micro_batches = 0;
  bool fits() const { return fitting_micro_batches == plan.micro_batches; }
};

// The job of the options with the workloads of `make`, recomputed and frozen as they say. Needs all memory of the
// virtual GPU.
GpuJob gpu_job(const MakeBatch& make, const TrainOptions& options, double item_tokens, double sides, Scaling scaling);
std::vector<GpuPlanRow> plan_gpus(const GpuJob& job, const GpuModel& model, const std::vector<int>& gpus);

// The step of one GPU, without the exchange: time, launches, and its share of the rates of matrix products.
Json step_json(const GpuPlanRow& row, const GpuModel& model, Precision precision);
Json to_json(const std::vector<GpuPlanRow>& rows);
// The work of a step of one GPU, by op and purpose.
Json to_json(const GpuForecast& forecast);

// "yes", "no; --optimizer-delay 4 fits" or "no".
std::string fitting_text(const GpuPlanRow& row, const ParallelOptions& options);

void print_rows(const std::vector<GpuPlanRow>& rows, const GpuJob& job);
void print_forecast(const GpuForecast& forecast);

}  // namespace gyre
