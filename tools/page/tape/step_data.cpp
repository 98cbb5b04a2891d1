#include "tools/page/tape/step_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/autograd/module_path.h"

namespace gyre {
namespace {

using nlohmann::ordered_json;

// Samples of larger models have fewer lines, so that the page stays below 3 MB where it can.
constexpr double kSampledBytes = 2.55e6;
constexpr double kBytesPerElement = 4 * 4.0 / 3;  // in base64
constexpr double kBytesPerTensor = 200;           // of its shape and statistics

// The bytes of the samples of a step in JSON. With several ranks, a parameter also has the gradients of the other ranks
// and the sum.
double sampled_bytes(const StepData& step, int ranks) {
  double bytes = 0;
  const auto add = [&](const std::optional<TensorSample>& sample, int copies = 1) {
    if (!sample) return;
    double elements = 0;
    for (const SampleBlock& block : sample->blocks) elements += double(block.elements());
    bytes += copies * (kBytesPerTensor + kBytesPerElement * elements);
  };
  for (const RecordedNode& node : step.nodes) {
    const bool is_parameter = !step.rows[size_t(&node - step.nodes.data())].parameter.empty();
    add(node.value);
    add(node.gradient, is_parameter && ranks > 1 ? 1 + ranks : 1);
    for (const RecordedNode::Input& input : node.inputs) add(input.constant);
    for (const auto& [name, sample] : node.saved) add(sample);
    for (const auto& [name, sample] : node.computed) add(sample);
  }
  for (const RecordedStep& recorded : step.steps) {
    for (const RecordedStep::Path& path : recorded.paths) {
      add(path.added);
      add(path.sum);
    }
  }
  return bytes;
}

// The next smaller limits; false if these are the smallest. excess: the bytes as a multiple of the wanted ones.
bool reduce(SampleLimits& limits, double excess) {
  if (limits.lines > 1) {
    limits.lines = excess > 1.5 ? 1 : limits.lines - 1;
    return true;
  }
  if (limits.whole <= 64) return false;
  limits.whole /= 2;
  limits.longest = std::max<int64_t>(512, limits.longest / 2);
  return true;
}

void add(ordered_json& object, const char* name, const std::optional<TensorSample>& sample) {
  if (sample) object[name] = sample_json(*sample);
}

ordered_json inputs_json(const RecordedNode& record) {
  ordered_json inputs = ordered_json::array();
  for (const RecordedNode::Input& input : record.inputs) {
    ordered_json& object = inputs.emplace_back(ordered_json::object());
    if (input.node >= 0) object["node"] = input.node;
    add(object, "value", input.constant);
  }
  return inputs;
}

ordered_json named_json(const std::vector<std::pair<std::string, TensorSample>>& samples) {
  ordered_json array = ordered_json::array();
  for (const auto& [name, sample] : samples) array.push_back({{"name", name}, {"value", sample_json(sample)}});
  return array;
}

void add_costs(ordered_json& object, const NodeCost& cost) {
  object.update({{"forward_seconds", cost.forward_seconds},
                 {"backward_seconds", cost.backward_seconds},
                 {"after_forward", cost.after_forward},
                 {"after_backward", cost.after_backward},
                 {"after_release", cost.after_release}});
}

void add_op(ordered_json& object, const TapeRow& row, const RecordedNode& record) {
  ordered_json attributes = ordered_json::object();
  for (const auto& [name, value] : row.attributes) attributes[name] = value;
  object.update({{"attributes", attributes},
                 {"inputs", inputs_json(record)},
                 {"saved", named_json(record.saved)},
                 {"computed", named_json(record.computed)},
                 {"flops", row.flops},
                 {"saved_bytes", row.saved_bytes}});
}

void add_differences(ordered_json& object, const std::vector<GradientDifference>& differences) {
  for (const GradientDifference& d : differences)
    object["differences"].push_back({{"row", d.row}, {"column", d.column}, {"value", d.value}});
}

ordered_json node_json(const StepData& step, const TapeRow& row) {
  const RecordedNode& record = step.nodes[size_t(row.id)];
  ordered_json object{{"id", row.id}, {"op", row.op}};
  if (!row.module.empty()) object["module"] = row.module;
  if (!row.parameter.empty()) object["parameter"] = row.parameter;
  if (const auto name = step.names.find(row.id); name != step.names.end()) object["name"] = name->second;
  object["value"] = sample_json(record.value);
  add(object, "gradient", record.gradient);
  if (!step.differences.empty()) add_differences(object, step.differences[size_t(row.id)]);
  if (row.leaf) return object;
  add_op(object, row, record);
  if (!step.costs.empty()) add_costs(object, step.costs[size_t(row.id)]);
  return object;
}

ordered_json backward_json(const RecordedStep& step) {
  ordered_json paths = ordered_json::array();
  for (const RecordedStep::Path& path : step.paths) {
    ordered_json& object = paths.emplace_back(ordered_json{{"input", path.input}, {"number", path.number}});
    add(object, "added", path.added);
    add(object, "sum", path.sum);
  }
  ordered_json object{{"node", step.node}, {"paths", paths}, {"final", step.final_parameters}};
  if (step.bias_done) object["bias_done"] = true;
  return object;
}

ordered_json modules_json(const std::vector<TapeRow>& rows, const std::vector<NodeCost>& costs) {
  ordered_json modules = ordered_json::array();
  for (const ModuleTotals& totals : module_totals(rows)) {
    double seconds = 0;
    for (const TapeRow& row : rows)
      if (!costs.empty() && in_module(row.module, totals.path))
        seconds += costs[size_t(row.id)].forward_seconds + costs[size_t(row.id)].backward_seconds;
    modules.push_back({{"path", totals.path},
                       {"ops", totals.ops},
                       {"parameters", totals.parameters},
                       {"saved_bytes", totals.saved_bytes},
                       {"flops", totals.flops},
                       {"seconds", seconds}});
  }
  return modules;
}

ordered_json formulas_json(const std::vector<TapeRow>& rows) {
  ordered_json formulas = ordered_json::object();
  for (const TapeRow& row : rows)
    if (!row.formula.empty()) formulas[row.op] = row.formula;
  return formulas;
}

StepData record_with(const StepFunction& step, Kernels& kernels, const SampleLimits& limits) {
  StepData data;
  data.limits = limits;
  Tape tape(kernels, step.tape);
  const Var result = step.record(tape);
  data.rows = tape_rows(tape);
  for (const Node& node : tape.nodes())
    if (node.parameter && node.parameter->gradient) node.parameter->gradient.zero();  // of a step recorded before
  StepRecorder recorder(limits);
  recorder.read_forward(tape);
  tape.add_observer(recorder);
  tape.backward(result, step.cotangent);
  data.nodes = recorder.nodes();
  data.steps = recorder.steps();
  return data;
}

}  // namespace

StepData record_step(const StepFunction& step, Kernels& kernels, int ranks) {
  SampleLimits limits;
  while (true) {
    StepData data = record_with(step, kernels, limits);
    const double excess = sampled_bytes(data, ranks) / kSampledBytes;
    if (excess <= 1 || !reduce(limits, excess)) return data;
  }
}

ordered_json step_json(const StepData& step) {
  ordered_json nodes = ordered_json::array(), steps = ordered_json::array();
  for (const TapeRow& row : step.rows) nodes.push_back(node_json(step, row));
  for (const RecordedStep& recorded : step.steps) steps.push_back(backward_json(recorded));
  return {{"formulas", formulas_json(step.rows)},
          {"nodes", nodes},
          {"steps", steps},
          {"modules", modules_json(step.rows, step.costs)}};
}

}  // namespace gyre
