#include "tools/page/tape/computed_tensors.h"

#include <algorithm>

#include "gyre/autograd/ops.h"

namespace gyre {
namespace {

// Elements up to which the page has all of them: sums need whole heads, and whole rows of logits.
constexpr int64_t kHeadElements = 4096, kLogits = 8192;

OpMetadata metadata_of(const Node& node) {
  OpMetadata metadata;
  node.op->describe(metadata);
  return metadata;
}

// The first columns of the first rows, f32 on the CPU.
Tensor corner(const Tensor& tensor, int64_t rows, int64_t columns) {
  const Tensor all = tensor.slice(0, rows).to_cpu().to(DType::f32);
  Tensor result = Tensor::empty({rows, columns});
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(all.data<float>() + i * all.cols(), columns, result.data<float>() + i * columns);
  return result;
}

bool same_numbers(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.span<float>(), b.span<float>());
}

ComputedTensors computed_by_attention(const Tape& tape, int number) {
  const Node& node = tape.nodes()[size_t(number)];
  const AttentionParts parts = attention_parts(tape, number, 0);
  const int64_t heads = parts.scores.dim(0), width = node.value.cols() / heads, key_heads = parts.k.cols() / width;
  const int64_t own = width * (heads / key_heads);
  ComputedTensors tensors{{"S", parts.scores},
                          {"P", attention_weights(tape, number, 0)},
                          {"own q", corner(parts.q, parts.q.rows(), own)},
                          {"own k", corner(parts.k, parts.k.rows(), width)},
                          {"own v", corner(parts.v, parts.v.rows(), width)}};
  if (parts.position_scores) tensors.emplace_back("position scores", parts.position_scores);
  if (parts.keep) tensors.emplace_back("keep", parts.keep);
  if (!parts.query_angles) return tensors;
  tensors.emplace_back("query angles", parts.query_angles);
  if (!same_numbers(parts.query_angles, parts.key_angles)) tensors.emplace_back("key angles", parts.key_angles);
  return tensors;
}

ComputedTensors computed_by_loss(const Tape& tape, int number) {
  const std::vector<Tensor>& inputs = tape.nodes()[size_t(number)].input_values;
  const int64_t rows = std::clamp<int64_t>(kLogits / inputs[1].dim(0), 1, inputs[0].dim(0));
  const CrossEntropyParts parts = cross_entropy_parts(tape, number, rows);
  return {{"logits", parts.logits}, {"dlogits", parts.dlogits}};
}

// The factors of dropout, of which element i belongs to element i of the output.
Tensor factors(Kernels& kernels, const Shape& shape, const DropoutMask& mask) {
  Tensor ones = Tensor::empty(shape);
  std::fill_n(ones.data<float>(), ones.size(), 1.0F);
  ones = ones.to(kernels.device());
  kernels.dropout(ones, ones, {}, mask);
  return ones.to_cpu();
}

}  // namespace

ComputedTensors computed_by_forward(const Tape& tape, int number) {
  const Node& node = tape.nodes()[size_t(number)];
  if (node.name() == "attention") return computed_by_attention(tape, number);
  if (node.name() == "linear_cross_entropy") return computed_by_loss(tape, number);
  if (node.name() == "rope") return {{"angles", rope_angles(tape, number)}};
  const DropoutMask dropout = metadata_of(node).dropout;
  if (dropout.rate == 0) return {};
  return {{"keep", factors(tape.kernels(), node.value.shape(), dropout)}};
}

Tensor own_gradient(const Node& node, const Shape& own_queries) {
  return corner(node.gradient, own_queries[0], own_queries[1]);
}

SampleLimits computed_limits(const Node& node, const SampleLimits& limits) {
  const int64_t whole = node.name() == "attention"              ? kHeadElements
                        : node.name() == "linear_cross_entropy" ? kLogits
                                                                : 0;
  return {std::max(whole, limits.whole), limits.lines, limits.longest};
}

}  // namespace gyre
