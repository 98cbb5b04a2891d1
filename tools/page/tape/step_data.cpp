#include "tools/page/tape/step_data.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/autograd/inspect/timeline.h"
#include "gyre/core/io/json.h"
#include "tools/inspect/tape/tape_report.h"
#include "tools/summary.h"
#include "tools/workload/device.h"

namespace gyre {

namespace {

constexpr int kTimedSteps = 5;

struct TimedStep {
  std::vector<Span> spans;
  size_t nodes = 0;
};

TimedStep time_step(const StepFunction& step, Kernels& kernels) {
  Timeline timeline(device_probe(kernels.device()));
  Tape tape(kernels, step.tape);
  tape.add_observer(timeline);
  timeline.restart();
  const Var result = step.record(tape);
  timeline.restart();
  tape.backward(result, step.cotangent);
  timeline.mark(Timeline::kOther);  // the node that was visited last is freed by now
  return {timeline.spans(), tape.nodes().size()};
}

std::vector<NodeCost> costs_of(const TimedStep& step) {
  std::vector<NodeCost> costs(step.nodes);
  const double start = step.spans.empty() ? 0 : double(step.spans.front().before);
  NodeCost* last = nullptr;  // the node whose backward ended before the span
  for (const Span& span : step.spans) {
    const double after = double(span.after) - start;
    if (span.node < 0) {
      if (last) last->after_release = after;
      last = nullptr;
      continue;
    }
    NodeCost& cost = costs.at(size_t(span.node));
    const bool backward = span.kind == Span::Kind::backward;
    (backward ? cost.backward_seconds : cost.forward_seconds) += span.seconds();
    (backward ? cost.after_backward : cost.after_forward) = after;
    last = backward ? &cost : nullptr;
  }
  return costs;
}

}  // namespace

std::vector<NodeCost> measure_nodes(const StepFunction& step, Kernels& kernels) {
  time_step(step, kernels);  // warm-up, which allocates the gradients of the parameters
  std::vector<std::vector<NodeCost>> runs;
  for (int i = 0; i < kTimedSteps; ++i) runs.push_back(costs_of(time_step(step, kernels)));
  std::vector<NodeCost> costs = runs.back();
  for (size_t node = 0; node < costs.size(); ++node) {
    std::vector<double> forward, backward;
    for (const std::vector<NodeCost>& run : runs) {
      forward.push_back(run[node].forward_seconds);
      backward.push_back(run[node].backward_seconds);
    }
    costs[node].forward_seconds = median(forward);
    costs[node].backward_seconds = median(backward);
  }
  return costs;
}

namespace {

constexpr double kForwardFlops = 6e10;  // FLOPs of all evaluations of the loss
constexpr double kEvaluations = 4;      // number of evaluations of central_difference()
constexpr int64_t kPerNode = 3;

// Flat indices of the elements of a sample, those of the largest magnitude first.
std::vector<int64_t> largest_elements(const TensorSample& sample, size_t most) {
  std::vector<std::pair<float, int64_t>> elements;  // minus the magnitude, and the index
  const int64_t columns = sample.shape.rank() == 0 ? 1 : sample.shape[-1];
  for (size_t b = 0; b < sample.blocks.size(); ++b) {
    const SampleBlock& block = sample.blocks[b];
    for (int64_t i = 0; i < block.elements(); ++i) {
      const float value = sample.values[b][size_t(i)];
      const int64_t row = block.row + i / block.columns, column = block.column + i % block.columns;
      if (std::isfinite(value)) elements.emplace_back(-std::abs(value), row * columns + column);
    }
  }
  const size_t count = std::min(most, elements.size());
  std::partial_sort(elements.begin(), elements.begin() + std::ptrdiff_t(count), elements.end());
  std::vector<int64_t> indices;
  for (size_t i = 0; i < count; ++i) indices.push_back(elements[i].second);
  return indices;
}

void convert_to_f64(Parameters& parameters) {
  std::vector<Tensor> values;
  for (const Parameter& p : parameters) values.push_back(p.value);
  const Device device = parameters.values().device();
  parameters.allocate_zeros(DType::f64, device);
  for (const Parameter& p : parameters) p.value.copy_from(values[size_t(p.index)].to_cpu().to(DType::f64).to(device));
}

// Adds a number to one element of the value of a node, as soon as the node is recorded.
class Shift final : public TapeObserver {
 public:
  Shift(int node, int64_t element) : node_(node), element_(element) {}
  const Tensor& amount() const { return amount_; }
  void on_record(const Tape& tape, int number) override {
    if (number != node_) return;
    const Tensor& value = tape.nodes()[size_t(number)].value;
    const Tensor place = value.reshape({value.size()}).slice(element_, element_ + 1);
    const double shifted = place.to_cpu().to(DType::f64).data<double>()[0] + amount_.data<double>()[0];
    place.copy_from(Tensor::from<double>({1}, {shifted}));
  }

 private:
  int node_;
  int64_t element_;
  Tensor amount_ = Tensor::zeros({1}, DType::f64);
};

// The loss in f64, as a function of an element of a parameter or of an op's output.
class LossDifferences {
 public:
  LossDifferences(Workload& work, Kernels& kernels) : work_(work), kernels_(kernels) {}

  double of_parameter(const Tensor& value, int64_t element) {
    const PerturbedFunction f{{{"", value}}, [this] { return loss(false, nullptr); }, one_};
    return central_difference(f, 0, element, step_).value;
  }
  double of_output(int node, int64_t element) {
    Shift shift(node, element);
    const PerturbedFunction f{{{"", shift.amount()}}, [&] { return loss(true, &shift); }, one_};
    return central_difference(f, 0, 0, step_).value;
  }

 private:
  Tensor loss(bool record, TapeObserver* observer) const {
    Tape::Options options = page_tape_options(Precision::fp32);
    options.record = record;
    Tape tape(kernels_, options);
    if (observer != nullptr) tape.add_observer(*observer);
    return work_.loss(tape).loss.value().to_cpu();
  }

  const double step_ = gradcheck_step(DType::f32);  // small: the loss has kinks, as of relu
  const Tensor one_ = Tensor::from<double>({1}, {1});
  Workload& work_;
  Kernels& kernels_;
};

}  // namespace

std::vector<std::vector<int64_t>> elements_to_measure(const std::vector<TapeRow>& rows,
                                                      const std::vector<RecordedNode>& nodes, int64_t most) {
  double flops = 0;
  for (const TapeRow& row : rows) flops += row.flops;
  const int64_t total = std::min(most, int64_t(kForwardFlops / (kEvaluations * std::max(flops, 1.0))));
  const int64_t tensors = std::ranges::count_if(nodes, [](const RecordedNode& n) { return n.gradient.has_value(); });
  std::vector<std::vector<int64_t>> elements(nodes.size());
  if (total <= 0 || tensors == 0) return elements;
  const int64_t each = std::clamp<int64_t>(total / tensors, 1, kPerNode), stride = (tensors + total - 1) / total;
  int64_t number = 0;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].gradient && number++ % stride == 0) elements[i] = largest_elements(*nodes[i].gradient, size_t(each));
  return elements;
}

std::vector<std::vector<GradientDifference>> gradient_differences(Workload& work, Kernels& kernels,
                                                                  const std::vector<TapeRow>& rows,
                                                                  const std::vector<RecordedNode>& nodes,
                                                                  int64_t most) {
  const std::vector<std::vector<int64_t>> elements = elements_to_measure(rows, nodes, most);
  std::vector<std::vector<GradientDifference>> all(nodes.size());
  if (std::ranges::all_of(elements, [](const auto& own) { return own.empty(); })) return all;
  convert_to_f64(work.parameters());
  LossDifferences differences(work, kernels);
  for (const TapeRow& row : rows) {
    const Parameter* parameter = row.parameter.empty() ? nullptr : work.parameters().find(row.parameter);
    const int64_t columns = row.shape.rank() == 0 ? 1 : row.shape[-1];
    for (const int64_t element : elements[size_t(row.id)]) {
      const double value = parameter != nullptr ? differences.of_parameter(parameter->value, element)
                                                : differences.of_output(row.id, element);
      if (std::isfinite(value)) all[size_t(row.id)].push_back({element / columns, element % columns, value});
    }
  }
  return all;
}

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
  if (!row.parameter.empty()) object["parameter"] = shown_parameter(step.rows, row);
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
