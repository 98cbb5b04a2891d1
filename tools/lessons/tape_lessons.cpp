#include <cmath>

#include "gyre/autograd/ops.h"
#include "gyre/core/random.h"
#include "tools/examples/custom_op/rms_norm.h"
#include "tools/lessons/lesson_kinds.h"

namespace gyre {
namespace {

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

}  // namespace

const std::vector<TapeLesson>& tape_lessons() {
  static const std::vector<TapeLesson> lessons = make_lessons();
  return lessons;
}

Tensor readable_numbers(const Shape& shape, uint64_t stream) {
  Tensor t = normal_tensor(shape, DType::f64, /*seed=*/1, stream);
  for (double& x : t.span<double>()) x = std::round(100 * x) / 100;
  return t;
}

}  // namespace gyre
