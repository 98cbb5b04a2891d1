#include "tools/workload/gpu/gpu_plan_report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "tools/workload/bench_metrics.h"

namespace gyre {
namespace {}  // namespace

std::string fitting_text(const GpuPlanRow& row, const ParallelOptions& options) {
  if (row.fits()) return "yes";
  if (row.fitting_micro_batches == 0) return "no";
  if (options.fixes_micro_batches())
    return concat("no; --micro-batches ", int64_t(row.fitting_micro_batches) * row.plan.ranks, " fits");
  return concat("no; --optimizer-delay ", row.fitting_micro_batches, " fits");
}

Json step_json(const GpuPlanRow& row, const GpuModel& model, Precision precision) {
  const GpuForecast& step = row.forecast;
  const double rate = step.flops / step.step_seconds;
  return {{"micro_batches", row.plan.micro_batches},
          {"tokens_of_gpu", rounded(step.tokens)},
          {"step_ms", rounded(1e3 * step.step_seconds)},
          {"busy_ms", rounded(1e3 * step.busy_seconds)},
          {"host_ms", rounded(1e3 * step.host_seconds)},
          {"launches", step.launches},
          {"host_waits", step.waits},
          {"host_drains", step.drains},
          {"gb_of_passes", rounded(step.bytes / kGiga)},
          {"tflops", rounded(rate / 1e12)},
          {"share_of_products", rounded(rate / model.products(precision))},
          {"peak_tensor_gb", rounded(step.peak_bytes / kGiga)}};
}

Json to_json(const std::vector<GpuPlanRow>& rows) {
  Json list = Json::array();
  // Efficiency is relative to the row with the fewest GPUs.
  const auto fewest = std::min_element(
      rows.begin(), rows.end(), [](const GpuPlanRow& a, const GpuPlanRow& b) { return a.plan.ranks < b.plan.ranks; });
  for (const GpuPlanRow& row : rows) {
    const double rate = row.tokens / row.plan.step();
    const double rate_of_fewest = fewest->tokens / fewest->plan.step() / fewest->plan.ranks;
    list.push_back({{"gpus", row.plan.ranks},
                    {"micro_batches", row.plan.micro_batches},
                    {"memory_gb", rounded(row.plan.memory() / kGiga)},
                    {"weights_gb", rounded(row.plan.weights / kGiga)},
                    {"gradients_gb", rounded(row.plan.gradients / kGiga)},
                    {"optimizer_gb", rounded(row.plan.state / kGiga)},
                    {"activations_gb", rounded(row.plan.activations / kGiga)},
                    {"reserved_gb", rounded(row.plan.reserved / kGiga)},
                    {"extrapolated_from_tokens", rounded(row.extrapolated_from)},
                    {"fits", row.fits()},
                    {"fitting_micro_batches", row.fitting_micro_batches},
                    {"step_seconds", rounded(row.plan.step())},
                    {"compute_seconds", rounded(row.plan.compute)},
                    {"optimizer_seconds", rounded(row.plan.optimizer)},
                    {"exchange_seconds", rounded(row.plan.exchange)},
                    {"exposed_seconds", rounded(row.plan.exposed)},
                    {"tokens_per_second", rounded(rate)},
                    {"efficiency", rounded(rate / rate_of_fewest / row.plan.ranks)}});
  }
  return list;
}

Json to_json(const GpuForecast& forecast) {
  Json list = Json::array();
  for (const ForecastRow& row : forecast.rows)
    list.push_back({{"name", row.name},
                    {"launches", row.launches},
                    {"ms", rounded(1e3 * row.seconds)},
                    {"gb", rounded(row.bytes / kGiga)},
                    {"gflop", rounded(row.flops / kGiga)}});
  return list;
}

void print_rows(const std::vector<GpuPlanRow>& rows, const GpuJob& job) {
  std::printf("\n%6s %9s %10s %12s %12s %12s %11s  %s\n", "GPUs", "GB/GPU", "step ms", "exchange ms", "exposed ms",
              "tokens/s", "efficiency", "fits");
  const Json list = to_json(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto number = [&](const char* name) { return list[i][name].get<double>(); };
    std::printf("%6d %9.3g %10.4g %12.4g %12.4g %12.6g %10.1f%%  %s\n", rows[i].plan.ranks, number("memory_gb"),
                1e3 * number("step_seconds"), 1e3 * number("exchange_seconds"), 1e3 * number("exposed_seconds"),
                number("tokens_per_second"), 100 * number("efficiency"),
                fitting_text(rows[i], job.load.parallel).c_str());
  }
  for (const GpuPlanRow& row : rows) {
    if (row.extrapolated_from > 0)
      std::printf("%d GPUs: the micro-batch is extrapolated from one of %.0f tokens\n", row.plan.ranks,
                  row.extrapolated_from);
  }
}

void print_forecast(const GpuForecast& forecast) {
  std::printf("\n%-52s %9s %9s %7s %10s %10s\n", "one GPU, by op and pass", "launches", "ms", "share", "GB", "GFLOP");
  const auto line = [&](const ForecastRow& row) {
    std::printf("%-52s %9lld %9.3f %6.1f%% %10.2f", row.name.c_str(), static_cast<long long>(row.launches),
                1e3 * row.seconds, 100 * row.seconds / forecast.step_seconds, row.bytes / kGiga);
    if (row.flops > 0) std::printf(" %10.1f", row.flops / kGiga);
    std::printf("\n");
  };
  ForecastRow sum{
      .name = "sum", .launches = forecast.launches, .seconds = forecast.step_seconds, .bytes = forecast.bytes};
  for (const ForecastRow& row : forecast.rows) {
    line(row);
    sum.flops += row.flops;
  }
  line({.name = "waiting for the host", .seconds = forecast.step_seconds - forecast.busy_seconds});
  line(sum);
}

}  // namespace gyre
