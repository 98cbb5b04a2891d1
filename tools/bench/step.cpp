#include "tools/bench/step.h"

#include <nlohmann/json.hpp>

#include "tools/bench/step_presets.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/device.h"
#include "tools/workload/profile_table.h"
#include "tools/workload/step_runner.h"

namespace gyre {
namespace {

constexpr int kWarmUp = 2;

}  // namespace

StepReport run_step_bench(Kernels& kernels, const StepBench& bench) {
  const Device device = kernels.device();
  const ProductLimit limit(device, bench.precision);
  reset_peak_rss();
  const std::unique_ptr<Workload> work = make_workload(bench.preset, bench.variant, device);
  SelfCommunicator alone;
  StepRunner runner(*work, kernels, bench.precision, alone);
  for (int i = 0; i < kWarmUp; ++i) runner.run(uint64_t(i));

  Timeline timeline(device_probe(device));
  if (bench.profile) runner.attach(&timeline);
  std::vector<double> seconds;
  StepCost total{};
  for (int i = 0; i < bench.steps; ++i) {
    const StepCost cost = runner.run(uint64_t(kWarmUp + i));
    seconds.push_back(cost.seconds);
    total.seconds += cost.seconds;
    total.flops += cost.flops;
    total.tokens += cost.tokens;
  }

  StepReport report;
  report.step_seconds = median(seconds);
  const double divisor = work->varies() ? total.seconds : report.step_seconds * bench.steps;
  report.tokens_per_second = double(total.tokens) / divisor;
  report.flops = total.flops / divisor;
  report.peak_rss_mb = peak_rss_mb();
  report.peak_gpu_mb = peak_gpu_mb(device);
  report.parameters = work->parameters().elements();
  report.batches = work->batches();
  if (bench.profile) report.profile = per_step(rows_by_op(timeline.spans()), bench.steps);
  report.limit_flops = limit.value();
  return report;
}

nlohmann::ordered_json to_json(const StepReport& report) {
  nlohmann::ordered_json summary{{"batches", report.batches},
                                 {"parameters", report.parameters},
                                 {"tokens_per_second", rounded(report.tokens_per_second)},
                                 {"step_ms", rounded(1e3 * report.step_seconds)}};
  add_rate(summary, report.flops, report.limit_flops);
  add_memory(summary, report.peak_rss_mb, report.peak_gpu_mb);
  return summary;
}

nlohmann::ordered_json rows_json(const StepReport& report) { return profile_json(report.profile, report.limit_flops); }

void print_rows(const StepReport& report) { print_profile("one step", report.profile, report.limit_flops); }

}  // namespace gyre
