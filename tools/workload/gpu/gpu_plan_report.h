// Prints a plan for GPUs, as tables or JSON.
#pragma once

#include "gyre/core/io/json.h"
#include "tools/workload/gpu/gpu_plan.h"

namespace gyre {

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
