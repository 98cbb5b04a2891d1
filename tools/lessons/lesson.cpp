#include "tools/lessons/lesson.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/autograd/ops.h"
#include "gyre/autograd/reference.h"
#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/random.h"
#include "tools/examples/custom_op/rms_norm.h"
#include "tools/examples/scalar_tape/scalar_tape.h"
#include "tools/page/tape/step_data.h"

namespace gyre {
namespace {

// A function of tensors, recorded on a Tape in f64.
struct TapeLesson {
  std::string_view name;
  std::vector<NamedInput> inputs;
  TapeFunction function;
};

// A tensor of numbers with two decimals, which are easy to read; a pure function of the arguments.
Tensor readable_numbers(const Shape& shape, uint64_t stream) {
  Tensor t = normal_tensor(shape, DType::f64, /*seed=*/1, stream);
  for (double& x : t.span<double>()) x = std::round(100 * x) / 100;
  return t;
}

using Vars = std::vector<Var>;

constexpr int kTokens = 4;

Segments one_segment() { return Segments::from_lengths({kTokens}); }

Tensor positions() { return Tensor::from({kTokens}, std::vector<int32_t>{0, 1, 2, 3}); }

RopeAngles rotation_by(const Var& frequencies) {
  return make_rotation(frequencies, kTokens, {.dims = int(2 * frequencies.shape()[0])});
}

Var shared_weight(Tape&, const Vars& in) { return linear(add(in[0], linear(in[0], in[1])), in[1]); }

Var smoothed_loss(Tape&, const Vars& in) {
  return cross_entropy(in[0], Tensor::from({3}, std::vector<int32_t>{1, 4, 0}), {.smoothing = 0.1}).loss;
}

Var causal_attention(const Vars& in, const RopeAngles& rotation = {}) {
  AttentionOptions options{.causal = true, .rotation = rotation};
  if (rotation) options.query_positions = options.key_positions = positions();
  return attention(in[0], in[1], in[2], one_segment(), one_segment(), options);
}

// The features are softmaxes (Shen et al. 2021). Only those of the numerator are rotated.
Var rotated_linear_attention(Tape&, const Vars& in) {
  const RopeAngles rotation = rotation_by(in[3]);
  const Var q = head_softmax(in[0], 1), k = head_softmax(in[1], 1);
  const Var numerator = linear_attention_scan(rope(q, rotation, positions()), rope(k, rotation, positions()), in[2],
                                              one_segment(), 1, ScanDirection::before);
  return head_divide(numerator, linear_attention_scan(q, k, {}, one_segment(), 1, ScanDirection::before), 1e-6);
}

// The inputs of attention with one head of four features.
std::vector<NamedInput> heads() {
  const Shape shape{kTokens, 4};
  return {{"q", readable_numbers(shape, 0)}, {"k", readable_numbers(shape, 1)}, {"v", readable_numbers(shape, 2)}};
}

// Two pairs of features, which turn by 1 and by 0.1 radians per position.
NamedInput frequencies() { return {"frequencies", Tensor::from({2}, std::vector<double>{1, 0.1})}; }

std::vector<NamedInput> with_frequencies(std::vector<NamedInput> inputs) {
  inputs.push_back(frequencies());
  return inputs;
}

std::vector<TapeLesson> make_lessons() {
  const NamedInput x{"x", readable_numbers({3, 4}, 0)}, gamma{"gamma", readable_numbers({4}, 1)};
  const NamedInput bias{"bias", readable_numbers({2}, 2)}, beta{"beta", readable_numbers({4}, 2)};
  return {
      {"tape", {x, {"w", readable_numbers({4, 4}, 1)}}, shared_weight},
      {"linear",
       {x, {"w", readable_numbers({2, 4}, 1)}, bias},
       [](Tape&, const Vars& in) { return linear(in[0], in[1], in[2]); }},
      {"layer_norm", {x, gamma, beta}, [](Tape&, const Vars& in) { return layer_norm(in[0], in[1], in[2]); }},
      {"dropout", {x}, [](Tape&, const Vars& in) { return dropout(in[0], 0.5); }},
      {"cross_entropy", {{"x", readable_numbers({3, 5}, 0)}}, smoothed_loss},
      {"attention", heads(), [](Tape&, const Vars& in) { return causal_attention(in); }},
      {"rope", with_frequencies({{"x", readable_numbers({kTokens, 4}, 0)}}),
       [](Tape&, const Vars& in) { return rope(in[0], rotation_by(in[1]), positions()); }},
      {"rotary_attention", with_frequencies(heads()),
       [](Tape&, const Vars& in) { return causal_attention(in, rotation_by(in[3])); }},
      {"linear_attention", with_frequencies(heads()), rotated_linear_attention},
      {"own_op", {x, gamma}, [](Tape&, const Vars& in) { return example::rms_norm(in[0], in[1]); }},
  };
}

const std::vector<TapeLesson>& tape_lessons() {
  static const std::vector<TapeLesson> lessons = make_lessons();
  return lessons;
}

// ---- Records lessons on a Tape -------------------------------------------------------------------------------------

constexpr uint64_t kCotangentStream = 9;

std::vector<Var> leaves(Tape& tape, const std::vector<NamedInput>& inputs) {
  std::vector<Var> vars;
  for (const NamedInput& input : inputs) vars.push_back(tape.leaf(input.value));
  return vars;
}

Tensor result_of(const TapeLesson& lesson, const std::vector<NamedInput>& inputs) {
  Tape tape(cpu_kernels(), page_tape_options(Precision::fp32));
  return lesson.function(tape, leaves(tape, inputs)).value();
}

// d<cotangent, result> / d(element), for every element of the input.
std::vector<GradientDifference> differences_of(const PerturbedFunction& f, size_t input) {
  const Shape& shape = f.inputs[input].value.shape();
  std::vector<GradientDifference> differences;
  for (int64_t i = 0; i < shape.elements(); ++i)
    differences.push_back(
        {i / shape[-1], i % shape[-1], central_difference(f, input, i, gradcheck_step(DType::f64)).value});
  return differences;
}

// The recorded lesson, with finite differences of all elements of the inputs.
Json record_tape_lesson(const TapeLesson& lesson) {
  const Tensor result = result_of(lesson, lesson.inputs);
  const bool is_loss = result.size() == 1;
  const Tensor cotangent = is_loss ? Tensor::from(result.shape(), std::vector<double>{1})
                                   : readable_numbers(result.shape(), kCotangentStream);
  const StepFunction step{.record = [&](Tape& tape) { return lesson.function(tape, leaves(tape, lesson.inputs)); },
                          .tape = page_tape_options(Precision::fp32),
                          .cotangent = cotangent};
  StepData data = record_step(step, cpu_kernels());
  data.costs = measure_nodes(step, cpu_kernels());
  PerturbedFunction perturbed{.inputs = lesson.inputs, .evaluate = {}, .cotangent = cotangent};
  for (NamedInput& input : perturbed.inputs) input.value = input.value.clone();
  perturbed.evaluate = [&] { return result_of(lesson, perturbed.inputs); };
  data.differences.resize(data.nodes.size());
  for (size_t i = 0; i < lesson.inputs.size(); ++i) {
    data.names[int(i)] = lesson.inputs[i].name;
    data.differences[i] = differences_of(perturbed, i);
  }
  Json json{{"kind", "tape"}, {"setting", {{"precision", "fp32"}}}};
  json.update(step_json(data));
  return json;
}

// f = x y + sin(x), on the tape of tools/examples/scalar_tape.
Json scalar_lesson() {
  example::ScalarTape tape;
  const int x = tape.record(2), y = tape.record(3);
  const int product = tape.multiply(x, y), sine = tape.sine(x);
  const std::vector<double> gradients = tape.gradients(tape.add(product, sine));
  const std::vector<std::string> expressions{"x", "y", "a = x · y", "b = sin(x)", "f = a + b"};
  Json nodes = Json::array();
  for (size_t i = 0; i < tape.nodes.size(); ++i) {
    const example::ScalarNode& node = tape.nodes[i];
    Json inputs = Json::array();
    for (int k = 0; k < 2; ++k)
      if (node.input[k] >= 0) inputs.push_back({{"node", node.input[k]}, {"derivative", node.derivative[k]}});
    nodes.push_back(
        {{"expression", expressions.at(i)}, {"value", node.value}, {"gradient", gradients[i]}, {"inputs", inputs}});
  }
  return {{"kind", "scalars"}, {"nodes", nodes}};
}

using reference::Graph;
using reference::Matrix;

std::string_view formula_of(std::string_view op) {
  static const std::map<std::string_view, std::string_view> formulas{
      {"matmul", "y = a b\n  da += dy b^T;  db += a^T dy"}, {"transpose", "y = a^T\n  da += dy^T"},
      {"add", "y = a + b\n  da += dy;  db += dy"},          {"multiply", "y = a * b\n  da += dy * b;  db += dy * a"},
      {"map", "y = f(a) by element\n  da += dy * f'(a)"},   {"gather", "y = a[index]\n  da[index] += dy"},
  };
  return formulas.at(op);
}

Matrix readable_matrix(int64_t rows, int64_t cols, uint64_t stream) {
  Matrix m(rows, cols);
  m.data = readable_numbers({rows, cols}, stream).to_vector<double>();
  return m;
}

TensorSample sample_of(const Matrix& m) { return sample_tensor(Tensor::from({m.rows, m.cols}, m.data), {}); }

// The contribution of a node to the gradient of an input that has several uses.
RecordedStep::Path path_of(int input, const Matrix& before, const Matrix& after, int number, int uses) {
  RecordedStep::Path path{.input = input, .number = number, .added = {}, .sum = {}};
  Matrix added = after;
  for (size_t i = 0; i < added.data.size(); ++i) added.data[i] -= before.data[i];
  if (number > 1) path.added = sample_of(added);
  if (number < uses) path.sum = sample_of(after);
  return path;
}

// Records a graph and its backward like a StepRecorder those of a tape.
class GraphRecorder {
 public:
  explicit GraphRecorder(const Graph& graph) {
    for (const reference::Node& node : graph.nodes()) add(node);
  }

  // Call it for each node from the last to the first. Runs the node's backward.
  void step_back(const reference::Node& node) {
    const int number = numbers_.at(&node);
    data_.nodes[size_t(number)].gradient = sample_of(node.gradient);
    if (!node.backward) return;
    std::vector<Matrix> before;
    for (const reference::Node* input : node.inputs) before.push_back(input->gradient);
    node.backward(node.gradient);
    RecordedStep& step = data_.steps.emplace_back();
    step.node = number;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i > 0 && node.inputs[i] == node.inputs[0]) continue;  // a product of x and x has one path
      const auto input = size_t(numbers_.at(node.inputs[i]));
      ++done_[input];
      if (uses_[input] > 1)
        step.paths.push_back(path_of(int(i), before[i], node.inputs[i]->gradient, done_[input], uses_[input]));
    }
  }

  const StepData& data() const { return data_; }
  void name(int node, const std::string& name) { data_.names[node] = name; }

 private:
  void add(const reference::Node& node) {
    TapeRow row;
    row.id = int(data_.rows.size());
    row.leaf = node.op.empty();
    row.op = row.leaf ? "constant" : node.op;
    if (!row.leaf) row.formula = formula_of(node.op);
    row.shape = {node.value.rows, node.value.cols};
    row.dtype = DType::f64;
    RecordedNode record;
    record.value = sample_of(node.value);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int input = numbers_.at(node.inputs[i]);
      record.inputs.push_back({.node = input, .constant = {}});
      if (i == 0 || node.inputs[i] != node.inputs[0]) ++uses_[size_t(input)];
    }
    numbers_[&node] = row.id;
    uses_.push_back(0);
    done_.push_back(0);
    data_.rows.push_back(row);
    data_.nodes.push_back(record);
  }

  StepData data_;
  std::map<const reference::Node*, int> numbers_;
  std::vector<int> uses_, done_;  // number of nodes that use a node, and of those whose backward has run
};

// Layer norm composed of the basic ops of autograd/reference.h.
Json matrix_lesson() {
  Graph graph;
  const reference::Value x = graph.input(readable_matrix(2, 3, 0)), gamma = graph.input(readable_matrix(1, 3, 1)),
                         beta = graph.input(readable_matrix(1, 3, 2));
  const reference::Value y = reference::layer_norm(x, gamma, beta, 1e-5);
  GraphRecorder recorder(graph);
  recorder.name(0, "x");
  recorder.name(1, "gamma");
  recorder.name(2, "beta");
  y.node->gradient = readable_matrix(2, 3, 3);
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) recorder.step_back(*node);
  Json lesson{{"kind", "tape"}, {"setting", {{"precision", "fp32"}}}};
  lesson.update(step_json(recorder.data()));
  return lesson;
}

Json result_json(const GradcheckResult& result) {
  Json entries = Json::array();
  for (const GradcheckEntry& entry : result.entries)
    entries.push_back(
        {{"element", entry.index}, {"analytic", entry.analytic}, {"numeric", entry.numeric}, {"error", entry.error}});
  return {{"input", result.input}, {"passed", result.passed}, {"entries", entries}};
}

// Leaves out a term of the gradient while it exists.
class WrongGradient {
 public:
  explicit WrongGradient(bool is_wrong) { example::leave_out_a_term = is_wrong; }
  ~WrongGradient() { example::leave_out_a_term = false; }
  WrongGradient(const WrongGradient&) = delete;
  WrongGradient& operator=(const WrongGradient&) = delete;
};

Json check(const std::string& title, bool leave_out_a_term) {
  const std::vector<NamedInput> inputs{{"x", readable_numbers({2, 4}, 0)}, {"gamma", readable_numbers({4}, 1)}};
  const WrongGradient scope(leave_out_a_term);
  const std::vector<GradcheckResult> results = gradcheck(
      cpu_kernels(), [](Tape&, const auto& in) { return example::rms_norm(in[0], in[1]); }, inputs);
  Json inputs_json = Json::array();
  for (const GradcheckResult& result : results) inputs_json.push_back(result_json(result));
  return {{"title", title}, {"inputs", inputs_json}};
}

// The op of tools/examples/custom_op, with its backward and with one that lacks a term.
Json gradcheck_lesson() {
  return {
      {"kind", "gradcheck"},
      {"checks", {check("the backward of rms_norm", false), check("the same without the term mean(g * xhat)", true)}}};
}

}  // namespace

Json lesson_data(std::string_view name) {
  if (name == "scalars") return scalar_lesson();
  if (name == "matrices") return matrix_lesson();
  if (name == "gradcheck") return gradcheck_lesson();
  for (const TapeLesson& lesson : tape_lessons())
    if (lesson.name == name) return record_tape_lesson(lesson);
  throw Error("[lessons] there is no lesson ", name);
}

}  // namespace gyre
