// gyre inspect tape: lists the ops of a training step's tape, their saved tensors and their cost, as a table, JSON or a
// picture.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/autograd/inspect/timeline.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/suggestions.h"
#include "gyre/data/text/utf8.h"
#include "tools/inspect/inspect_target.h"
#include "tools/inspect/tape/tape_report.h"
#include "tools/options/computing_options.h"
#include "tools/plots/gnuplot.h"
#include "tools/program.h"
#include "tools/summary.h"
#include "tools/workload/device.h"

namespace gyre {
namespace {

// Draws a tape as a graph with the program dot (Graphviz).
struct TapeGraph {
  std::string title;
  std::string module;           // draw only this module, with stubs for its inputs and uses outside; "": everything
  std::vector<double> seconds;  // time of forward and backward by node id, which determines the fill of the boxes;
                                // empty: the FLOPs determine it
};

// ---- Nested clusters of a graph for the program dot (Graphviz) -----------------------------------------------------

// A cluster with its lines and inner clusters, in the order in which they were added.
class DotCluster {
 public:
  // The inner cluster at the end of the path. Creates missing clusters.
  DotCluster& at(const std::vector<std::string>& path);
  void add(std::string line) { lines_.push_back(std::move(line)); }

  // The text between the braces of the cluster.
  std::string text(const std::string& id = "cluster", const std::string& indent = "  ") const;

 private:
  DotCluster& part(const std::string& name);

  std::vector<std::string> lines_;
  std::vector<std::pair<std::string, DotCluster>> parts_;
};

// Escapes text for an HTML label, or for a quoted string with the same syntax (tooltip).
std::string dot_escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\\':
        result += "&#92;";
        break;
      case '\n':
        result += "&#10;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

// Splits a module path into names; a number stays with the preceding name. "encoder.layers.0.self_attn" gives
// "encoder", "layers.0", "self_attn".
std::vector<std::string> cluster_names(const std::string& module) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin < module.size();) {
    const size_t end = std::min(module.find('.', begin), module.size());
    const std::string name = module.substr(begin, end - begin);
    if (!names.empty() && name.find_first_not_of("0123456789") == std::string::npos) {
      names.back() += "." + name;
    } else {
      names.push_back(name);
    }
    begin = end + 1;
  }
  return names;
}

DotCluster& DotCluster::at(const std::vector<std::string>& path) {
  DotCluster* cluster = this;
  for (const std::string& name : path) cluster = &cluster->part(name);
  return *cluster;
}

std::string DotCluster::text(const std::string& id, const std::string& indent) const {
  std::string result;
  for (const std::string& line : lines_) result += indent + line + "\n";
  for (size_t i = 0; i < parts_.size(); ++i) {
    const std::string inner = id + "_" + std::to_string(i);
    result += fmt::format("{0}subgraph {1} {{\n{0}  label=<<B>{2}</B>>\n{3}{0}}}\n", indent, inner,
                          dot_escaped(parts_[i].first), parts_[i].second.text(inner, indent + "  "));
  }
  return result;
}

DotCluster& DotCluster::part(const std::string& name) {
  for (auto& [known, cluster] : parts_)
    if (known == name) return cluster;
  return parts_.emplace_back(name, DotCluster()).second;
}

// Colors after Okabe and Ito, which color-blind readers can distinguish; fills are lighter.
constexpr std::string_view kParameterFill = "#d0efe5", kGradientFill = "#fbdcc4", kSavedFill = "#f4f4f4",
                           kParameterLine = "#009E73", kGradientLine = "#D55E00", kSavedLine = "#777777";

// Interpolates from white (0) to blue (1).
std::string fill_of(double darkness) {
  const auto mixed = [&](int full) { return int(255 + (full - 255) * darkness + 0.5); };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(0x6f), mixed(0xb8), mixed(0xea));
}

// The parameter's name without the leading modules that contain `module`.
std::string short_name(const std::string& parameter, const std::string& module) {
  size_t begin = 0;
  for (size_t dot = parameter.find('.'); dot != std::string::npos; dot = parameter.find('.', dot + 1))
    if (in_module(module, parameter.substr(0, dot))) begin = dot + 1;
  return parameter.substr(begin);
}

class Writer {
 public:
  Writer(const std::vector<TapeRow>& rows, const TapeGraph& graph)
      : rows_(rows), graph_(graph), part_(rows_of_module(rows, graph.module)) {
    for (const TapeRow& row : part_) {
      inside_.insert(row.id);
      all_work_ += work(row);
      max_work_ = std::max(max_work_, work(row));
    }
  }

  std::string text() {
    for (const TapeRow& row : part_)
      if (!row.leaf) add_op(row);
    add_parameters();
    add_lines();
    add_uses_outside();
    return fmt::format(
        "digraph tape {{\n"
        "  graph [fontname=\"Helvetica\" fontsize=11 labeljust=l labelloc=t style=rounded color=\"#bbbbbb\" "
        "ranksep=0.3 nodesep=0.25]\n"
        "  node [fontname=\"Helvetica\" fontsize=10 shape=plain margin=0.03]\n"
        "  edge [arrowsize=0.6]\n"
        "{}"
        "  label={}\n"
        "}}\n",
        root_.text(), legend());
  }

 private:
  bool has_times() const { return !graph_.seconds.empty(); }
  double seconds(const TapeRow& row) const { return graph_.seconds.at(size_t(row.id)); }
  double work(const TapeRow& row) const { return row.leaf ? 0 : has_times() ? seconds(row) : row.flops; }
  double share(double work) const { return all_work_ > 0 ? work / all_work_ : 0; }

  // The cluster of a module. The modules around the drawn part share one cluster.
  DotCluster& cluster(const std::string& module) {
    if (graph_.module.empty()) return root_.at(cluster_names(module));
    const std::string inner = module.size() > graph_.module.size() ? module.substr(graph_.module.size() + 1) : "";
    std::vector<std::string> path{graph_.module};
    for (const std::string& name : cluster_names(inner)) path.push_back(name);
    return root_.at(path);
  }

  void add_op(const TapeRow& row) {
    DotCluster& home = cluster(row.module);
    home.add(fmt::format("n{} [label={} tooltip=\"{}\"]", row.id, op_label(row), dot_escaped(row.formula)));
    for (const TapeInput& input : row.inputs) add_input(row, input, home);
    if (row.saved.empty()) return;
    home.add(fmt::format("s{} [label={}]", row.id, saved_label(row)));
    home.add(fmt::format("n{0} -> s{0} [style=dashed color=\"{1}\"]", row.id, kSavedLine));
    same_rank_[row.id] += fmt::format("; s{}", row.id);
  }

  std::string op_label(const TapeRow& row) const {
    std::string cost;
    if (has_times()) cost = fmt::format("{}, {:.1f} %", human_seconds(seconds(row)), 100 * share(seconds(row)));
    if (row.flops > 0) cost += (cost.empty() ? "" : ", ") + human_count(row.flops) + "FLOP";
    std::string attributes;
    for (const auto& [name, value] : row.attributes)
      attributes += (attributes.empty() ? "" : ", ") + name + " " + value;
    std::string lines = fmt::format("<B>{}</B> #{}<BR/>{} {}, {}", dot_escaped(row.op), row.id, to_string(row.shape),
                                    to_string(row.dtype), human_bytes(double(row.output_bytes)));
    for (const std::string& line : {attributes, cost})
      if (!line.empty()) lines += "<BR/>" + dot_escaped(line);
    const double darkness = max_work_ > 0 ? work(row) / max_work_ : 0;
    return fmt::format(
        "<<TABLE BORDER=\"1\" CELLBORDER=\"0\" CELLPADDING=\"6\" BGCOLOR=\"{}\"><TR><TD>{}</TD></TR></TABLE>>",
        fill_of(darkness), lines);
  }

  // Shows the size of each saved tensor, or the node that holds its memory.
  std::string saved_label(const TapeRow& row) const {
    std::string lines;
    for (const SavedTensor& s : row.saved) {
      const std::string memory = s.holder == row.id ? human_bytes(double(s.bytes))
                                 : s.holder < 0     ? "a parameter"
                                                    : fmt::format("held by #{}", s.holder);
      lines += fmt::format("<TR><TD ALIGN=\"LEFT\">{} {}</TD><TD ALIGN=\"RIGHT\">{}</TD></TR>", dot_escaped(s.name),
                           to_string(s.shape), memory);
    }
    return fmt::format(
        "<<TABLE BORDER=\"1\" CELLBORDER=\"0\" CELLPADDING=\"2\" CELLSPACING=\"2\" STYLE=\"dashed\" COLOR=\"{}\" "
        "BGCOLOR=\"{}\">{}</TABLE>>",
        kSavedLine, kSavedFill, lines);
  }

  void add_input(const TapeRow& row, const TapeInput& input, DotCluster& home) {
    if (input.node < 0) {
      const std::string id = fmt::format("c{}_{}", row.id, constants_++);
      home.add(fmt::format("{} [shape=ellipse label=\"constant\\n{}\"]", id, to_string(input.shape)));
      root_.add(fmt::format("{} -> n{}", id, row.id));
      return;
    }
    const TapeRow& from = rows_[size_t(input.node)];
    if (!from.parameter.empty()) {
      if (users_[from.id].empty()) parameters_.push_back(from.id);
      users_[from.id].insert(row.id);
      return;
    }
    if (from.leaf || !inside_.contains(from.id)) add_stub(from);
    root_.add(fmt::format("n{} -> n{}", from.id, row.id));
  }

  // Adds an ellipse for an input from outside the drawn part, once per node.
  void add_stub(const TapeRow& from) {
    if (!stubs_.insert(from.id).second) return;
    const std::string module = from.module.empty() ? "" : "\\n" + from.module;
    root_.add(fmt::format("n{0} [shape=ellipse label=\"from {1} #{0}{2}\\n{3}\"]", from.id, from.op, module,
                          to_string(from.shape)));
  }

  // Parameters that are used by the same ops share one table.
  void add_parameters() {
    std::map<std::set<int>, std::vector<int>> groups;
    for (const int parameter : parameters_) groups[users_[parameter]].push_back(parameter);
    for (const auto& [users, parameters] : groups) add_parameter_table(parameters, users);
  }

  void add_parameter_table(const std::vector<int>& parameters, const std::set<int>& users) {
    const std::string id = fmt::format("p{}", parameters.front());
    const std::string& module = rows_[size_t(*users.begin())].module;
    DotCluster& home = users.size() == 1 ? cluster(module) : root_;
    std::string lines;
    for (const int parameter : parameters) {
      const TapeRow& row = rows_[size_t(parameter)];
      const std::string name = shown_parameter(rows_, row);
      lines += fmt::format("<TR><TD ALIGN=\"LEFT\" BGCOLOR=\"{}\">{} {}</TD><TD BGCOLOR=\"{}\">gradient</TD></TR>",
                           kParameterFill, dot_escaped(users.size() == 1 ? short_name(name, module) : name),
                           to_string(row.shape), kGradientFill);
    }
    home.add(
        fmt::format("{} [label=<<TABLE BORDER=\"0\" CELLBORDER=\"1\" CELLPADDING=\"4\" CELLSPACING=\"0\" "
                    "COLOR=\"#aaaaaa\">{}</TABLE>>]",
                    id, lines));
    for (const int user : users) {
      home.add(fmt::format("{} -> n{} [color=\"{}\"]", id, user, kParameterLine));
      home.add(fmt::format("{} -> n{} [dir=back color=\"{}\"]", id, user, kGradientLine));
    }
    if (users.size() == 1) same_rank_[*users.begin()] += "; " + id;
  }

  // Places an op on one line with its parameters and saved tensors. The cluster keeps other nodes out of the line.
  void add_lines() {
    for (const auto& [op, neighbors] : same_rank_)
      cluster(rows_[size_t(op)].module)
          .add(fmt::format("subgraph cluster_n{0} {{ peripheries=0 label=\"\" margin=2 {{ rank=same; n{0}{1} }} }}", op,
                           neighbors));
  }

  // Adds ellipses for the uses of the part's values outside the part.
  void add_uses_outside() {
    std::map<int, std::vector<std::string>> uses;
    for (const TapeRow& row : rows_)
      for (const TapeInput& input : row.inputs)
        if (!inside_.contains(row.id) && inside_.contains(input.node) && !rows_[size_t(input.node)].leaf)
          uses[input.node].push_back(fmt::format("to {} #{}", row.op, row.id));
    for (const auto& [from, users] : uses) {
      std::string label = users[0];
      if (users.size() > 1) label += "\\n" + users[1];
      if (users.size() > 2) label += fmt::format("\\nand {} more", users.size() - 2);
      root_.add(fmt::format("o{} [shape=ellipse label=\"{}\"]", from, label));
      root_.add(fmt::format("n{0} -> o{0}", from));
    }
  }

  std::string legend() const {
    const std::string measure = has_times() ? "time of forward and backward" : "FLOPs";
    const auto cell = [](std::string_view fill, const std::string& text) {
      return fmt::format("<TD BGCOLOR=\"{}\">{}</TD>", fill, text);
    };
    const std::string most = fmt::format("{:.0f} %", 100 * share(max_work_));
    return fmt::format(
        "<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLPADDING=\"3\">"
        "<TR><TD ALIGN=\"LEFT\" COLSPAN=\"6\"><B>{}</B></TD></TR>"
        "<TR>{}{}<TD>of the {}</TD>{}{}{}</TR></TABLE>>",
        dot_escaped(graph_.title), cell(fill_of(0), "0 %"), cell(fill_of(1), most), measure,
        cell(kParameterFill, "parameter"), cell(kGradientFill, "its gradient"), cell(kSavedFill, "saved for backward"));
  }

  const std::vector<TapeRow>& rows_;
  const TapeGraph& graph_;
  std::vector<TapeRow> part_;
  std::set<int> inside_;  // ids of the drawn part
  double all_work_ = 0, max_work_ = 0;

  DotCluster root_;
  std::set<int> stubs_;
  int constants_ = 0;
  std::vector<int> parameters_;           // leaves of the parameters, in the order of use
  std::map<int, std::set<int>> users_;    // ops that use each parameter's leaf
  std::map<int, std::string> same_rank_;  // nodes on the line of each op
};

// Returns the graph in the dot language: ops as boxes in the clusters of their modules, with their parameters,
// gradients and saved tensors.
std::string tape_graph_dot(const std::vector<TapeRow>& rows, const TapeGraph& graph) {
  return Writer(rows, graph).text();
}

// Draws the graph into `output`, .png or .svg. Throws Error if dot cannot be started or fails.
void draw_graph(const std::string& dot, const Path& output) {
  run_on_text({.topic = "graph",
               .program = "dot",
               .arguments = {"-T" + picture_format(output), "-o" + output.string()},
               .remedy = "install Graphviz, or write the graph with --dot and draw it elsewhere"},
              dot);
}

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
          {"device", to_string(kernels.device())},
          {"threads", threads()},
          {"precision", enum_name(precision)}});
  const std::string part = args.module.empty() ? "" : ", " + args.module;
  if (drawn) draw(args, step, concat(model, part, ": ", work->batches()));
  return 0;
}

}  // namespace

void add_inspect_tape_command(Program& program) {
  program.describe_group("inspect", "inspect a model: ops, timings, values, gradients, positions");
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
