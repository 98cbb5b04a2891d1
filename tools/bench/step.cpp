#include "tools/bench/step.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "gyre/core/io/json.h"
#include "tools/bench/step_presets.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/device.h"
#include "tools/workload/profile_table.h"
#include "tools/workload/step_runner.h"

namespace gyre {
namespace {

constexpr int kWarmUp = 2;

struct Measured {
  double step_seconds = 0, divisor = 0;  // divisor: the seconds of all tokens and FLOPs
  double flops = 0;
  int64_t tokens = 0;
};

void add(Measured& sum, const StepCost& cost) {
  sum.flops += cost.flops;
  sum.tokens += cost.tokens;
}

// Waits for the end of each step.
Measured run_one_by_one(StepRunner& runner, int steps, bool varies) {
  Measured sum;
  std::vector<double> seconds;
  for (int i = 0; i < steps; ++i) {
    const StepCost cost = runner.run(uint64_t(i));
    seconds.push_back(cost.seconds);
    sum.divisor += cost.seconds;
    add(sum, cost);
  }
  sum.step_seconds = median(seconds);
  if (!varies) sum.divisor = sum.step_seconds * steps;
  return sum;
}

// Queues all steps, because training does not wait for the end of a step either. Like training, a step waits for the
// outcome of the update before it, while its forward and backward are queued.
Measured queue_all(StepRunner& runner, Device device, int steps) {
  Measured sum;
  DeviceWatch watch(device);
  for (int i = 0; i < steps; ++i) add(sum, runner.queue(uint64_t(i)));
  runner.finish();
  sum.divisor = watch.lap();
  sum.step_seconds = sum.divisor / steps;
  return sum;
}

// The peak of tensor memory in the steps so far, without the tensors that stay between steps.
double activations_mb(Device device) {
  const MemoryStats memory = tensor_memory(device);
  return double(memory.peak_bytes - memory.active_bytes) / kMebibyte;
}

// Collective. Adds up what the ranks have done, and takes the longest times and the most memory.
void join(Communicator& ranks, Measured& measured, double& limit_flops, double& rss_mb) {
  std::vector<double> sums{measured.flops, double(measured.tokens), limit_flops};
  ranks.all_reduce(std::span<double>(sums));
  measured.flops = sums[0];
  measured.tokens = int64_t(sums[1]);
  limit_flops = sums[2];
  for (double* value : {&measured.step_seconds, &measured.divisor, &rss_mb}) {
    std::vector<double> of_rank(static_cast<size_t>(ranks.size()));
    of_rank[size_t(ranks.rank())] = *value;
    ranks.all_reduce(std::span<double>(of_rank));
    *value = *std::max_element(of_rank.begin(), of_rank.end());
  }
}

}  // namespace

StepReport run_step_bench(Kernels& kernels, Communicator& ranks, const StepBench& bench) {
  const Device device = kernels.device();
  const ProductLimit limit(device, bench.precision);
  reset_peak_rss();
  const std::unique_ptr<Workload> work = make_workload(bench.preset, bench.variant, device);
  work->draw_ahead(uint64_t(bench.steps) * uint64_t(ranks.size()));
  StepRunner runner(*work, kernels, bench.precision, ranks);
  for (int i = 0; i < kWarmUp; ++i) runner.run(uint64_t(i % bench.steps));

  Timeline timeline(device_probe(device));
  if (bench.profile) runner.attach(&timeline);
  ranks.barrier();
  Measured measured = device == Device{} || bench.profile ? run_one_by_one(runner, bench.steps, work->varies())
                                                          : queue_all(runner, device, bench.steps);
  const double own_limit = limit.value();
  double limit_flops = own_limit, rss_mb = peak_rss_mb();
  join(ranks, measured, limit_flops, rss_mb);
  StepReport report;
  report.ranks = ranks.size();
  report.step_seconds = measured.step_seconds;
  report.tokens_per_step = double(measured.tokens) / bench.steps;
  report.tokens_per_second = double(measured.tokens) / measured.divisor;
  report.flops = measured.flops / measured.divisor;
  report.peak_rss_mb = rss_mb;
  report.peak_gpu_mb = peak_gpu_mb(device);
  report.activations_mb = activations_mb(device);
  report.parameters = work->parameters().elements();
  report.batches = work->batches();
  report.limit_flops = limit_flops;
  report.own_limit_flops = own_limit;
  if (bench.profile) {
    report.profile = per_step(rows_by_op(timeline.spans()), bench.steps);
    report.predicted = predict_step(kernels, bench.precision, own_limit, work->optimizer(),
                                    [&](Device on) { return make_workload(bench.preset, bench.variant, on); });
  }
  return report;
}

Json to_json(const StepReport& report) {
  Json summary{{"batches", report.batches},
               {"parameters", report.parameters},
               {"tokens_per_step", rounded(report.tokens_per_step)},
               {"tokens_per_second", rounded(report.tokens_per_second)},
               {"step_ms", rounded(1e3 * report.step_seconds)}};
  add_rate(summary, report.flops, report.limit_flops);
  add_memory(summary, report.peak_rss_mb, report.peak_gpu_mb);
  summary["activations_mb"] = rounded(report.activations_mb);
  if (!report.predicted.kind.empty()) summary["predicted_as"] = report.predicted.kind;
  return summary;
}

Json rows_json(const StepReport& report) {
  return profile_json(report.profile, report.own_limit_flops, report.predicted.ops);
}

void print_rows(const StepReport& report) {
  print_profile("one step", report.profile, report.own_limit_flops, report.predicted.ops);
}

}  // namespace gyre
