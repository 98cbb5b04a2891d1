// gyre inspect tape: lists the ops of a training step's tape, their saved tensors and their cost, as a table, JSON or a
// picture.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/autograd/inspect/profile.h"
#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/suggestions.h"
#include "tools/inspect/inspect_target.h"
#include "tools/inspect/tape/tape_graph.h"
#include "tools/inspect/tape/tape_report.h"
#include "tools/options/cpu_threads.h"
#include "tools/options/device_choice.h"
#include "tools/options/precision_choice.h"
#include "tools/print_summary.h"
#include "tools/program.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/device.h"

namespace gyre {

namespace {

constexpr int kTapeSteps = 9;

struct InspectTapeArgs {
  OptionTable* table = nullptr;
  InspectTarget target;
  std::string module;
  int depth = 3;
  Path dot, svg;
  bool formulas = false;
  DeviceChoice device;
  CpuThreads threads;
  PrecisionChoice precision;
  bool json = false;
};

// A training step without the optimizer.
struct Step {
  std::vector<TapeRow> rows;
  std::vector<double> seconds;  // time of forward and backward, by node
  double flops = 0;             // FLOPs of forward, including those not recorded
};

Step run_step(const Workload& work, Kernels& kernels, Precision precision) {
  Step step;
  Timeline timeline(device_probe(kernels.device()));
  Tape tape(kernels, {.record = true, .training = true, .seed = 1, .precision = precision, .loss_seeded = true});
  tape.add_observer(timeline);
  const LossResult result = work.loss(tape);
  step.rows = tape_rows(tape);
  step.flops = tape.flops();
  timeline.restart();
  tape.backward(result.loss);
  step.seconds = node_seconds(timeline.spans(), step.rows.size());
  return step;
}

// The median over kTapeSteps steps.
std::vector<double> typical_seconds(const Workload& work, Kernels& kernels, Precision precision) {
  std::vector<std::vector<double>> by_step;
  for (int i = 0; i < kTapeSteps; ++i) by_step.push_back(run_step(work, kernels, precision).seconds);
  std::vector<double> seconds;
  for (size_t node = 0; node < by_step.front().size(); ++node) {
    std::vector<double> of_node;
    for (const std::vector<double>& step : by_step) of_node.push_back(step[node]);
    seconds.push_back(median(of_node));
  }
  return seconds;
}

// Throws UsageError for a module without recorded ops.
void check_module(const std::vector<TapeRow>& rows, const std::string& module) {
  std::vector<std::string> known;
  std::string outermost;
  for (const ModuleTotals& totals : module_totals(rows)) {
    if (totals.path == module) return;
    known.push_back(totals.path);
    const bool is_outermost = !totals.path.empty() && totals.path.find('.') == std::string::npos;
    if (is_outermost) outermost += totals.path + ", ";
  }
  throw UsageError("--module: expected ", outermost, "or a part of one, got ", module, did_you_mean(module, known));
}

void draw(const InspectTapeArgs& args, const Step& step, const std::string& what) {
  const TapeGraph graph{.title = what, .module = args.module, .seconds = step.seconds};
  const std::string dot = tape_graph_dot(step.rows, graph);
  if (!args.dot.empty()) write_file(args.dot, dot);
  if (!args.svg.empty()) draw_graph(dot, args.svg);
}

void report(const InspectTapeArgs& args, const Step& step, Json setting) {
  if (args.json) {
    setting["forward_flops"] = step.flops;
    setting.update(tape_json(step.rows, args.module));
    print_summary(setting, true);
    return;
  }
  print_summary(setting, false);
  std::puts("");
  print_tape(step.rows, args.module, args.depth);
  if (args.formulas) print_formulas(step.rows, args.module);
}

int run(const InspectTapeArgs& args) {
  expect_at_least(1, "--depth", args.depth);
  args.threads.use();
  Kernels& kernels = args.device.kernels();
  const Precision precision = args.precision.on(kernels);
  const std::unique_ptr<Workload> work = make_target_workload(*args.table, args.target, {.device = kernels.device()});
  const bool drawn = !args.dot.empty() || !args.svg.empty();
  Step step = run_step(*work, kernels, precision);
  if (drawn) step.seconds = typical_seconds(*work, kernels, precision);
  check_module(step.rows, args.module);

  const std::string model = args.target.model.empty() ? args.target.preset : args.target.model.string();
  report(args, step,
         {{"model", model},
          {"batch", work->batches()},
          {"device", kernels.device().text()},
          {"threads", threads()},
          {"precision", precision_name(precision)}});
  const std::string part = args.module.empty() ? "" : ", " + args.module;
  if (drawn) draw(args, step, concat(model, part, ": ", work->batches()));
  return 0;
}

}  // namespace

void add_inspect_tape_command(Program& program) {
  auto args = std::make_shared<InspectTapeArgs>();
  OptionTable& table =
      program.command("inspect tape", "list or draw the ops of a step: shapes, saved memory, forward FLOPs",
                      [args] { return run(*args); });
  args->table = &table;
  add_target_options(table, args->target);
  table.group("Output");
  table.add("--module", args->module, "PATH",
            "show only this module: encoder.layers.0, decoder.layers.1.self_attn, ..");
  table.add("--depth", args->depth, "NAMES", "show totals of modules up to this many path components deeper");
  table.add_flag("--formulas", args->formulas, "print the forward and backward formulas of each op");
  table.add_picture("--svg", args->svg, "picture drawn by Graphviz; darker boxes take longer");
  table.add("--dot", args->dot, "FILE", "the same graph as Graphviz source");
  table.add_flag("--json", args->json, "print one JSON object");
  table.group("Execution");
  args->device.add_row(table);
  args->threads.add_row(table);
  args->precision.add_row(table);
}

}  // namespace gyre
