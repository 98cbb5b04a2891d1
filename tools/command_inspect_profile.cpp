// gyre inspect profile: time and memory of training steps by op and by module, as tables, pictures and traces; under
// mpirun with the exchange of gradients.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/bench/figures.h"
#include "tools/cpu_threads.h"
#include "tools/device_choice.h"
#include "tools/facts.h"
#include "tools/inspect/profile_run.h"
#include "tools/inspect/subject.h"
#include "tools/inspect/trace.h"
#include "tools/plots/lines.h"
#include "tools/profile_table.h"
#include "tools/program.h"

namespace gyre {
namespace {

using nlohmann::ordered_json;

constexpr double kMega = 1 << 20;

struct InspectProfile {
  Subject subject;
  DeviceChoice device;
  CpuThreads threads;
  std::string precision = "fp32";
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

ordered_json facts_of(const ProfileReport& report, const Kernels& kernels, const Communicator& ranks) {
  ordered_json facts{{"device", kernels.device().text()},
                     {"ranks", ranks.size()},
                     {"threads", threads()},
                     {"batches", report.batches},
                     {"parameters", report.parameters},
                     {"tokens_per_second", rounded(double(report.tokens) / report.step_seconds)},
                     {"step_ms", rounded(1e3 * report.step_seconds)},
                     {"profiled_step_ms", rounded(1e3 * report.profiled_seconds)},
                     {"sum_of_rows_ms", rounded(1e3 * report.spans_seconds)},
                     {"peak_tensor_mib", rounded(peak_bytes(report.last) / kMega)}};
  add_rate(facts, report.flops, report.limit_flops);
  return facts;
}

// Over the last step, in ms: a line for each pass, which begins where the one before ends.
void draw_memory(const std::vector<Span>& spans, const std::string& batches, const Path& output) {
  PlotLine lines[] = {{"forward", {}, {}}, {"backward", {}, {}}, {"batch, optimizer", {}, {}}};
  PlotLine* pass = &lines[2];
  for (const Span& span : spans) {
    const bool between = span.name == Timeline::kOther;  // ops of backward
    PlotLine* const now = between ? pass : span.kind == Span::Kind::outside ? &lines[2] : &lines[size_t(span.kind)];
    if (now != pass && !now->x.empty()) {  // the line was left
      now->x.push_back(now->x.back());
      now->y.push_back(NAN);
    }
    pass = now;
    for (const auto& [at, bytes] : {std::pair(span.begin, span.before), std::pair(span.end, span.after)}) {
      pass->x.push_back(1e3 * (at - spans.front().begin));
      pass->y.push_back(double(bytes) / kMega);
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

void print(const InspectProfile& call, const ProfileReport& report, ordered_json facts) {
  const auto ops = per_step(rows_by_op(report.spans), call.run.steps);
  const auto modules = per_step(rows_by_module(report.spans, call.depth), call.run.steps);
  if (call.json) {
    facts["ops"] = profile_json(ops, report.limit_flops);
    facts["modules"] = profile_json(modules, report.limit_flops);
  }
  print_facts(facts, call.json);
  if (call.json) return;
  print_profile("one step, by op", ops, report.limit_flops);
  print_profile("by module", modules, report.limit_flops);
}

int profile(InspectProfile& call, Communicator& ranks) {
  if (call.run.steps < 1) throw UsageError("--steps: expected at least 1, got ", call.run.steps);
  if (call.depth < 1) throw UsageError("--depth: expected at least 1, got ", call.depth);
  call.threads.use(ranks.cores());
  Kernels& kernels = call.device.kernels(ranks.local_rank());
  call.run.precision = parse_precision(call.precision, kernels);
  call.run.trace = !call.trace.empty();
  const std::unique_ptr<Workload> work = make_subject(*call.table, call.subject, {kernels.device()});
  const ProfileReport report = run_profile(*work, kernels, ranks, call.run);
  if (ranks.rank() != 0) return 0;
  print(call, report, facts_of(report, kernels, ranks));
  if (!call.memory.empty()) draw_memory(report.last, report.batches, call.memory);
  if (!call.trace.empty()) write_trace(call.trace, report.trace);
  return 0;
}

}  // namespace

void add_inspect_profile_command(Program& program) {
  auto call = std::make_shared<InspectProfile>();
  call->subject.preset = "transformer-base";
  call->subject.vocabulary = 32768;
  call->subject.segments = 16;
  call->subject.length = 32;
  OptionTable& table = program.command(
      "inspect profile", "time and memory of training steps by op and module; under mpirun with all ranks",
      [call] { return with_communicator(nullptr, nullptr, [call](Communicator& r) { return profile(*call, r); }); });
  call->table = &table;
  table.add("--steps", call->run.steps, "NUMBER", "looked at, and as many that are not, after two that warm up");
  table.add("--depth", call->depth, "NAMES", "of a module's path in the table: 3 for encoder.layers.0");
  table.add_picture("--memory,--memory-plot", call->memory, "the memory of tensors over a step");
  table.add("--trace", call->trace, "FILE", "two steps of all ranks, for ui.perfetto.dev or chrome://tracing");
  table.add("--bucket-mb", call->run.bucket_mb, "MIB", "of gradients that leave together, with several ranks");
  table.add_flag("--json", call->json, "print one JSON object");
  call->device.add_row(table);
  call->threads.add_row(table);
  table.add_choice("--precision", call->precision, precision_names(),
                   "of activations and products; auto: bf16 where the device has it");
  add_subject_options(table, call->subject);
}

}  // namespace gyre
