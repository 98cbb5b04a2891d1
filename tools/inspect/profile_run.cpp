#include "tools/inspect/profile_run.h"

#include "gyre/train/parallel/parallel_options.h"
#include "tools/inspect/trace.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/device.h"
#include "tools/workload/step_runner.h"

namespace gyre {
namespace {

constexpr int kUntraced = 2, kTraced = 2;

double sum_seconds(const std::vector<Span>& spans) {
  double sum = 0;
  for (const Span& span : spans) sum += span.seconds();
  return sum;
}

// Traces consecutive steps. The clocks of the ranks start at a barrier.
std::vector<std::string> trace_steps(StepRunner& runner, TracedCommunicator& ranks, const Timeline::Probe& probe,
                                     uint64_t number) {
  Timeline timeline(probe);
  runner.attach(&timeline);
  ranks.barrier();
  ranks.take();
  const double zero = probe.seconds();
  for (int i = 0; i < kTraced; ++i) runner.run(number + uint64_t(i));
  runner.attach(nullptr);
  return ranks.gather(trace_events({ranks.rank(), zero, timeline.spans(), ranks.take()}), 0);
}

}  // namespace

ProfileReport run_profile(Workload& work, Kernels& kernels, Communicator& ranks, const ProfileRun& run) {
  const ProductLimit limit(kernels.device(), run.precision);
  const Stopwatch watch;
  const Timeline::Probe probe = device_probe(kernels.device(), watch);
  TracedCommunicator traced(ranks, [watch] { return watch.seconds(); });
  StepRunner runner(work, kernels, run.precision, traced,
                    {.bucket_mb = ParallelOptions{.bucket_mb = run.bucket_mb}.bucket_mb_on(kernels.device())});
  uint64_t number = 0;
  while (number < kUntraced) runner.run(number++);

  ProfileReport report;
  std::vector<double> plain, profiled, spans;
  StepCost cost;
  for (int i = 0; i < run.steps; ++i) {
    cost = runner.run(number++);
    plain.push_back(cost.seconds);
    Timeline timeline(probe);
    runner.attach(&timeline);
    profiled.push_back(runner.run(number++).seconds);
    runner.attach(nullptr);
    report.last = timeline.spans();
    spans.push_back(sum_seconds(report.last));
    report.spans.insert(report.spans.end(), report.last.begin(), report.last.end());
    traced.take();
  }
  if (run.trace) report.trace = trace_steps(runner, traced, probe, number);

  report.tokens = cost.tokens * ranks.size();
  report.parameters = work.parameters().elements();
  report.batches = work.batches();
  report.step_seconds = median(plain);
  report.profiled_seconds = median(profiled);
  report.spans_seconds = median(spans);
  report.flops = cost.flops / report.step_seconds;
  report.limit_flops = limit.value();
  return report;
}

}  // namespace gyre
