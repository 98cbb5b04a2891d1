// gyre inspect tape: the ops of a training step's tape, what they keep for backward, what they cost; as a table, as
// JSON, as a picture.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "autograd/tape_rows.h"
#include "core/nearest.h"
#include "tools/bench/device.h"
#include "tools/cpu_threads.h"
#include "tools/device_choice.h"
#include "tools/facts.h"
#include "tools/inspect/subject.h"
#include "tools/inspect/tape_graph.h"
#include "tools/inspect/tape_report.h"
#include "tools/program.h"

namespace gyre {

namespace {

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

// Seconds of each node's forward and backward together.
class NodeTimes final : public TapeObserver {
 public:
  explicit NodeTimes(Device device) : watch_(device) {}
  void restart() { watch_.lap(); }
  std::vector<double> seconds(size_t nodes) const {
    std::vector<double> all = seconds_;
    all.resize(nodes);
    return all;
  }

  void on_record(const Tape&, int node) override { add(node); }
  void before_backward(const Tape&, int) override { restart(); }
  void after_backward(const Tape&, int node) override { add(node); }

 private:
  void add(int node) {
    if (seconds_.size() <= size_t(node)) seconds_.resize(size_t(node) + 1);
    seconds_[size_t(node)] += watch_.lap();
  }
  DeviceWatch watch_;
  std::vector<double> seconds_;
};

// A training step but for the optimizer.
struct Step {
  std::vector<TapeRow> rows;
  std::vector<double> seconds;  // of forward and backward, by node
  double flops = 0;             // of forward, recorded or not
};

Step run_step(const Workload& work, Kernels& kernels, Precision precision) {
  Step step;
  Tape tape(kernels, {.record = true, .training = true, .seed = 1, .precision = precision, .unit_cotangent = true});
  NodeTimes times(kernels.device());
  tape.add_observer(times);
  const LossResult result = work.loss(tape);
  step.rows = tape_rows(tape);
  step.flops = tape.flops();
  tape.backward(result.loss);
  step.seconds = times.seconds(step.rows.size());
  return step;
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
  if (!call.svg.empty()) check_picture_name(call.svg);
  call.threads.use();
  Kernels& kernels = call.device.kernels();
  const Precision precision = parse_precision(call.precision, kernels);
  const std::unique_ptr<Workload> work = make_subject(*call.table, call.subject, {.device = kernels.device()});
  const bool drawn = !call.dot.empty() || !call.svg.empty();
  if (drawn) run_step(*work, kernels, precision);  // warms up
  const Step step = run_step(*work, kernels, precision);
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
  table.add("--svg", call->svg, "FILE", "a picture by graphviz, .svg or .png: boxes are darker the longer they take");
  table.add("--dot", call->dot, "FILE", "the same as text for graphviz");
  table.add_flag("--json", call->json, "print one JSON object");
  table.group("Work");
  call->device.add_row(table);
  call->threads.add_row(table);
  table.add_choice("--precision", call->precision, precision_names(),
                   "of activations and products; auto: bf16 where the device has it");
}

}  // namespace gyre
