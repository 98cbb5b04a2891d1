// Records lessons on a Tape.
#include <nlohmann/json.hpp>
#include <string>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/core/io/json.h"
#include "tools/lessons/lesson_kinds.h"
#include "tools/page/tape/step_data.h"

namespace gyre {
namespace {

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

}  // namespace

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

}  // namespace gyre
