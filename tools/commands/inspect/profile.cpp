// gyre inspect profile: measures time and memory of training steps by op and by module, and writes tables, pictures and
// traces. Under mpirun the steps include gradient all-reduce.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gyre/autograd/inspect/timeline.h"
#include "gyre/core/clock.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/fused_op.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/options.h"
#include "gyre/train/parallel/communicator.h"
#include "tools/inspect/inspect_target.h"
#include "tools/inspect/trace.h"
#include "tools/options/computing_options.h"
#include "tools/plots/charts.h"
#include "tools/program.h"
#include "tools/summary.h"
#include "tools/workload/device.h"
#include "tools/workload/gpu_forecast.h"
#include "tools/workload/step_runner.h"
#include "tools/workload/workload.h"

namespace gyre {
namespace {

// Runs training steps of a workload and profiles their time and memory.
struct ProfileRun {
  Precision precision = Precision::fp32;
  int steps = 5;  // profiled steps, alternating with as many unprofiled ones
  bool trace = false;
  std::optional<double> bucket_mb = {};  // same meaning as in ParallelOptions
};

struct ProfileReport {
  int64_t tokens = 0, parameters = 0;  // tokens of a step on all ranks
  std::string batches;                 // description of a rank's batches
  double step_seconds = 0;             // median of the unprofiled steps
  double profiled_seconds = 0;         // median of the profiled steps
  double spans_seconds = 0;            // median of the sums of their spans
  double flops = 0;                    // FLOP/s of a rank
  double limit_flops = 0;
  std::vector<Span> spans;         // spans of all profiled steps, on this rank
  std::vector<Span> last;          // spans of the last profiled step
  std::vector<std::string> trace;  // events of each rank (tools/inspect/trace.h), on rank 0 with ProfileRun::trace
};

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

// Collective. Runs two warm-up steps first and, with ProfileRun::trace, two traced steps at the end.
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

struct InspectProfileArgs {
  InspectTarget target;
  DeviceChoice device;
  CpuThreads threads;
  PrecisionChoice precision;
  ProfileRun run;
  int depth = 3;
  Path memory, trace;
  bool json = false;
  OptionTable* table = nullptr;
};

double peak_bytes(const std::vector<Span>& spans) {
  size_t most = 0;
  for (const Span& span : spans) most = std::max({most, span.before, span.after});
  return double(most);
}

Json summary_of(const ProfileReport& report, const Kernels& kernels, const Communicator& ranks) {
  Json summary{{"device", to_string(kernels.device())},
               {"composed_ops", composed_ops(kernels)},
               {"ranks", ranks.size()},
               {"threads", threads()},
               {"batches", report.batches},
               {"parameters", report.parameters},
               {"tokens_per_second", rounded(double(report.tokens) / report.step_seconds)},
               {"step_ms", rounded(1e3 * report.step_seconds)},
               {"profiled_step_ms", rounded(1e3 * report.profiled_seconds)},
               {"sum_of_rows_ms", rounded(1e3 * report.spans_seconds)},
               {"peak_tensor_mib", rounded(peak_bytes(report.last) / kMebibyte)}};
  add_rate(summary, report.flops, report.limit_flops);
  return summary;
}

// Index of the line in draw_memory().
size_t line_of(Span::Kind kind) {
  if (kind == Span::Kind::outside) return 2;
  return kind == Span::Kind::forward ? 0 : 1;
}

// Draws the memory over the last step in ms, with one line per pass.
void draw_memory(const std::vector<Span>& spans, const std::string& batches, const Path& output) {
  PlotLine lines[] = {{"forward", {}, {}}, {"backward", {}, {}}, {"batch, optimizer", {}, {}}};
  PlotLine* pass = &lines[2];
  for (const Span& span : spans) {
    const bool between = span.name == Timeline::kOther;  // time between the ops of backward
    PlotLine* const now = between ? pass : &lines[line_of(span.kind)];
    if (now != pass && !now->x.empty()) {  // the line continues after a gap
      now->x.push_back(now->x.back());
      now->y.push_back(NAN);
    }
    pass = now;
    for (const auto& [at, bytes] : {std::pair(span.begin, span.before), std::pair(span.end, span.after)}) {
      pass->x.push_back(1e3 * (at - spans.front().begin));
      pass->y.push_back(double(bytes) / kMebibyte);
    }
  }
  LinesPlot plot;
  plot.title = "Memory of tensors over a training step: " + batches;
  plot.x_label = "ms";
  plot.y_label = "MiB";
  plot.lines.assign(std::begin(lines), std::end(lines));
  plot.height = 500;
  draw_lines(plot, output);
}

void print(const InspectProfileArgs& args, const ProfileReport& report, const StepPrediction& predicted, Json summary) {
  if (!predicted.kind.empty()) summary["predicted_as"] = predicted.kind;
  const auto ops = per_step(rows_by_op(report.spans), args.run.steps);
  const auto modules = per_step(rows_by_module(report.spans, args.depth), args.run.steps);
  if (args.json) {
    summary["ops"] = profile_json(ops, report.limit_flops, predicted.ops);
    summary["modules"] = profile_json(modules, report.limit_flops);
  }
  print_summary(summary, args.json);
  if (args.json) return;
  print_profile("one step, by op", ops, report.limit_flops, predicted.ops);
  print_profile("by module", modules, report.limit_flops);
}

int profile(InspectProfileArgs& args, Communicator& ranks) {
  expect_at_least(1, "--steps", args.run.steps);
  expect_at_least(1, "--depth", args.depth);
  ParallelOptions{.bucket_mb = args.run.bucket_mb}.validate();
  args.threads.use(ranks.cores());
  Kernels& kernels = args.device.kernels(ranks.local_rank());
  args.run.precision = args.precision.on(kernels);
  args.run.trace = !args.trace.empty();
  const std::unique_ptr<Workload> work = make_target_workload(*args.table, args.target, {kernels.device()});
  const ProfileReport report = run_profile(*work, kernels, ranks, args.run);
  if (ranks.rank() != 0) return 0;
  const auto predicted = predict_step(kernels, args.run.precision, report.limit_flops, work->optimizer(),
                                      [&](Device on) { return make_target_workload(*args.table, args.target, {on}); });
  print(args, report, predicted, summary_of(report, kernels, ranks));
  if (!args.memory.empty()) draw_memory(report.last, report.batches, args.memory);
  if (!args.trace.empty()) write_trace(args.trace, report.trace);
  return 0;
}

}  // namespace

void add_inspect_profile_command(Program& program) {
  auto args = std::make_shared<InspectProfileArgs>();
  args->target.preset = "transformer-base";
  args->target.vocabulary = 32768;
  args->target.segments = 16;
  args->target.length = 32;
  OptionTable& table = program.command(
      "inspect profile", "time and memory of training steps by op and module, also under mpirun",
      [args] { return with_communicator([args](Communicator& r) { return profile(*args, r); }); },
      Program::Processes::ranks);
  args->table = &table;
  table.add("--steps", args->run.steps, "NUMBER",
            "profiled steps, and as many without profiling, after two warm-up steps");
  table.add("--depth", args->depth, "NAMES", "components of module paths in the table: 3 for encoder.layers.0");
  table.add_picture("--memory,--memory-plot", args->memory, "plot of the memory of tensors over a step");
  table.add("--trace", args->trace, "FILE", "trace of two steps of all ranks, for ui.perfetto.dev or chrome://tracing");
  table.add("--bucket-mb", args->run.bucket_mb, "MIB",
            "maximum size of a gradient bucket, with several ranks; default: 1, on GPUs 32");
  table.add_flag("--json", args->json, "print one JSON object");
  args->device.add_row(table);
  args->threads.add_row(table);
  args->precision.add_row(table);
  add_target_options(table, args->target);
}

}  // namespace gyre
