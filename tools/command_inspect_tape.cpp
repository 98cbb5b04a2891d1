// gyre inspect tape: the ops of a training step's tape, what they keep for backward, what they cost; as a table, as
// JSON, as a picture.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "autograd/profile.h"
#include "autograd/tape_rows.h"
#include "core/nearest.h"
#include "tools/bench/device.h"
#include "tools/bench/figures.h"
#include "tools/cpu_threads.h"
#include "tools/device_choice.h"
#include "tools/facts.h"
#include "tools/inspect/subject.h"
#include "tools/inspect/tape_graph.h"
#include "tools/inspect/tape_report.h"
#include "tools/program.h"

namespace gyre {

namespace {

constexpr int kTimedSteps = 9;

struct InspectTape {
  OptionTable* table = nullptr;
  Subject subject;
  std::string module;
  int depth = 3;
  Path dot, svg;
  bool formulas = false;
  DeviceChoice device;
  CpuThreads threads;
  std::string precision = "fp32";
  bool json = false;
};

// A training step but for the optimizer.
struct Step {
  std::vector<TapeRow> rows;
  std::vector<double> seconds;  // of forward and backward, by node
  double flops = 0;             // of forward, recorded or not
};

Step run_step(const Workload& work, Kernels& kernels, Precision precision) {
  Step step;
  Timeline timeline(device_probe(kernels.device()));
  Tape tape(kernels, {.record = true, .training = true, .seed = 1, .precision = precision, .unit_cotangent = true});
  tape.add_observer(timeline);
  const LossResult result = work.loss(tape);
  step.rows = tape_rows(tape);
  step.flops = tape.flops();
  timeline.restart();
  tape.backward(result.loss);
  step.seconds = node_seconds(timeline.spans(), step.rows.size());
  return step;
}

// The median of some steps.
std::vector<double> typical_seconds(const Workload& work, Kernels& kernels, Precision precision) {
  std::vector<std::vector<double>> by_step;
  for (int i = 0; i < kTimedSteps; ++i) by_step.push_back(run_step(work, kernels, precision).seconds);
  std::vector<double> seconds;
  for (size_t node = 0; node < by_step.front().size(); ++node) {
    std::vector<double> of_node;
    for (const std::vector<double>& step : by_step) of_node.push_back(step[node]);
    seconds.push_back(median(of_node));
  }
  return seconds;
}

// Throws UsageError for a module that records nothing.
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

void draw(const InspectTape& call, const Step& step, const std::string& what) {
  const TapeGraph graph{.title = what, .module = call.module, .seconds = step.seconds};
  const std::string dot = tape_graph_dot(step.rows, graph);
  if (!call.dot.empty()) write_file(call.dot, dot);
  if (!call.svg.empty()) draw_graph(dot, call.svg);
}

void report(const InspectTape& call, const Step& step, nlohmann::ordered_json setting) {
  if (call.json) {
    setting["forward_flops"] = step.flops;
    setting.update(tape_json(step.rows, call.module));
    print_facts(setting, true);
    return;
  }
  print_facts(setting, false);
  std::puts("");
  print_tape(step.rows, call.module, call.depth);
  if (call.formulas) print_formulas(step.rows, call.module);
}

int run(const InspectTape& call) {
  if (call.depth < 1) throw UsageError("--depth: expected at least 1, got ", call.depth);
  call.threads.use();
  Kernels& kernels = call.device.kernels();
  const Precision precision = parse_precision(call.precision, kernels);
  const std::unique_ptr<Workload> work = make_subject(*call.table, call.subject, {.device = kernels.device()});
  const bool drawn = !call.dot.empty() || !call.svg.empty();
  Step step = run_step(*work, kernels, precision);
  if (drawn) step.seconds = typical_seconds(*work, kernels, precision);
  check_module(step.rows, call.module);

  const std::string model = call.subject.model.empty() ? call.subject.preset : call.subject.model.string();
  report(call, step,
         {{"model", model},
          {"batch", work->batches()},
          {"device", kernels.device().text()},
          {"threads", threads()},
          {"precision", precision_name(precision)}});
  const std::string part = call.module.empty() ? "" : ", " + call.module;
  if (drawn) draw(call, step, concat(model, part, ": ", work->batches()));
  return 0;
}

}  // namespace

void add_inspect_tape_command(Program& program) {
  auto call = std::make_shared<InspectTape>();
  OptionTable& table =
      program.command("inspect tape", "list or draw the ops of a training step: shapes, saved memory, FLOPs of forward",
                      [call] { return run(*call); });
  call->table = &table;
  add_subject_options(table, call->subject);
  table.group("Output");
  table.add("--module", call->module, "PATH", "only this part: encoder.layers.0, decoder.layers.1.self_attn, ..");
  table.add("--depth", call->depth, "NAMES", "totals of modules whose paths have up to so many names more");
  table.add_flag("--formulas", call->formulas, "what each op computes, forward and backward");
  table.add_picture("--svg", call->svg, "a picture by graphviz, its boxes darker the longer they take");
  table.add("--dot", call->dot, "FILE", "the same as text for graphviz");
  table.add_flag("--json", call->json, "print one JSON object");
  table.group("Work");
  call->device.add_row(table);
  call->threads.add_row(table);
  table.add_choice("--precision", call->precision, precision_names(),
                   "of activations and products; auto: bf16 where the device has it");
}

}  // namespace gyre
