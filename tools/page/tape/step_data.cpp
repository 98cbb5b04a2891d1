#include "tools/page/tape/step_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/core/io/json.h"

namespace gyre {
namespace {

// Samples of larger models have fewer lines, so that the page stays below 3 MB where it can.
constexpr double kSampledBytes = 2.55e6;
constexpr double kBytesPerElement = 4 * 4.0 / 3;  // bytes in base64
constexpr double kBytesPerTensor = 200;           // bytes of its shape and statistics

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

void add(Json& object, const char* name, const std::optional<TensorSample>& sample) {
  if (sample) object[name] = sample_json(*sample);
}

Json inputs_json(const RecordedNode& record) {
  Json inputs = Json::array();
  for (const RecordedNode::Input& input : record.inputs) {
    Json& object = inputs.emplace_back(Json::object());
    if (input.node >= 0) object["node"] = input.node;
    add(object, "value", input.constant);
  }
  return inputs;
}

Json named_json(const std::vector<std::pair<std::string, TensorSample>>& samples) {
  Json array = Json::array();
  for (const auto& [name, sample] : samples) array.push_back({{"name", name}, {"value", sample_json(sample)}});
  return array;
}

void add_costs(Json& object, const NodeCost& cost) {
  object.update({{"forward_seconds", cost.forward_seconds},
                 {"backward_seconds", cost.backward_seconds},
                 {"after_forward", cost.after_forward},
                 {"after_backward", cost.after_backward},
                 {"after_release", cost.after_release}});
}

void add_op(Json& object, const TapeRow& row, const RecordedNode& record) {
  Json attributes = Json::object();
  for (const auto& [name, value] : row.attributes) attributes[name] = value;
  object.update({{"attributes", attributes},
                 {"inputs", inputs_json(record)},
                 {"saved", named_json(record.saved)},
                 {"computed", named_json(record.computed)},
                 {"flops", row.flops},
                 {"saved_bytes", row.saved_bytes}});
}

void add_differences(Json& object, const std::vector<GradientDifference>& differences) {
  for (const GradientDifference& d : differences)
    object["differences"].push_back({{"row", d.row}, {"column", d.column}, {"value", d.value}});
}

Json node_json(const StepData& step, const TapeRow& row) {
  const RecordedNode& record = step.nodes[size_t(row.id)];
  Json object{{"id", row.id}, {"op", row.op}};
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

Json backward_json(const RecordedStep& step) {
  Json paths = Json::array();
  for (const RecordedStep::Path& path : step.paths) {
    Json& object = paths.emplace_back(Json{{"input", path.input}, {"number", path.number}});
    add(object, "added", path.added);
    add(object, "sum", path.sum);
  }
  Json object{{"node", step.node}, {"paths", paths}, {"final", step.final_parameters}};
  if (step.bias_done) object["bias_done"] = true;
  return object;
}

Json modules_json(const std::vector<TapeRow>& rows, const std::vector<NodeCost>& costs) {
  Json modules = Json::array();
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

Json formulas_json(const std::vector<TapeRow>& rows) {
  Json formulas = Json::object();
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
    if (node.parameter && node.parameter->gradient) node.parameter->gradient.zero();  // an earlier step's gradient
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

Json step_json(const StepData& step) {
  Json nodes = Json::array(), steps = Json::array();
  for (const TapeRow& row : step.rows) nodes.push_back(node_json(step, row));
  for (const RecordedStep& recorded : step.steps) steps.push_back(backward_json(recorded));
  return {{"formulas", formulas_json(step.rows)},
          {"nodes", nodes},
          {"steps", steps},
          {"modules", modules_json(step.rows, step.costs)}};
}

}  // namespace gyre
