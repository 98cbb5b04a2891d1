#include "tools/lessons/lesson.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/autograd/ops.h"
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
  bool composed = false;  // record the composed definitions of the ops

  Tape::Options tape() const {
    Tape::Options options = page_tape_options(Precision::fp32);
    options.composed = composed;
    return options;
  }
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

Rope rotation_by(const Var& frequencies) {
  return make_rope(frequencies, kTokens, {.dims = int(2 * frequencies.shape()[0])});
}

Var shared_weight(Tape&, const Vars& in) { return linear(add(in[0], linear(in[0], in[1])), in[1]); }

Var smoothed_loss(Tape&, const Vars& in) {
  return cross_entropy(in[0], Tensor::from({3}, std::vector<int32_t>{1, 4, 0}), {.smoothing = 0.1}).loss;
}

Var causal_attention(const Vars& in, const Rope& rotation = {}) {
  AttentionOptions options{.causal = true, .rotation = rotation};
  if (rotation) options.query_positions = options.key_positions = positions();
  return attention(in[0], in[1], in[2], one_segment(), one_segment(), options);
}

// The features are softmaxes (Shen et al. 2021). Only those of the numerator are rotated.
Var rotated_linear_attention(Tape&, const Vars& in) {
  const Rope rotation = rotation_by(in[3]);
  const Var q = softmax(in[0]), k = softmax(in[1]);
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
      {"composed",
       {x, gamma, beta},
       [](Tape&, const Vars& in) { return layer_norm(in[0], in[1], in[2]); },
       /*composed=*/true},
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
  Tape tape(cpu_kernels(), lesson.tape());
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
                          .tape = lesson.tape(),
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
  if (name == "gradcheck") return gradcheck_lesson();
  for (const TapeLesson& lesson : tape_lessons())
    if (lesson.name == name) return record_tape_lesson(lesson);
  throw Error("[lessons] there is no lesson ", name);
}

}  // namespace gyre
