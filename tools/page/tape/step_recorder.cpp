#include "tools/page/tape/step_recorder.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/tape.h"
#include "gyre/core/io/json.h"
#include "tools/inspect/tape/tape_report.h"

namespace gyre {

namespace {

int64_t columns_of(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[-1]; }

// The elements as fp32, on the CPU.
std::vector<float> as_floats(const Tensor& tensor) {
  const Tensor t = tensor.to_cpu();
  if (t.dtype() != DType::i32) return t.to(DType::f32).to_vector<float>();
  const auto ids = t.span<int32_t>();
  return {ids.begin(), ids.end()};
}

std::vector<float> values_of(const std::vector<float>& all, int64_t columns, const SampleBlock& block) {
  std::vector<float> values;
  for (int64_t r = block.row; r < block.row + block.rows; ++r) {
    const auto first = all.begin() + r * columns + block.column;
    values.insert(values.end(), first, first + block.columns);
  }
  return values;
}

std::string bytes_of(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) {
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes += char(bits >> shift & 0xff);
  }
  return bytes;
}

std::string base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = i; k < i + 3; ++k) three = three << 8 | (k < bytes.size() ? uint8_t(bytes[k]) : 0U);
    for (size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : kDigits[three >> (18 - 6 * k) & 63];
  }
  return text;
}

}  // namespace

std::vector<SampleBlock> sample_blocks(const Shape& shape, const SampleLimits& limits) {
  const int64_t columns = columns_of(shape), rows = columns == 0 ? 0 : shape.elements() / columns;
  if (shape.elements() <= limits.whole) return {{0, 0, rows, columns}};
  const int64_t top = std::min(rows, limits.lines), left = std::min(columns, limits.lines);
  std::vector<SampleBlock> blocks{{0, 0, top, std::min(columns, limits.longest)}};
  if (rows > top) blocks.push_back({top, 0, std::min(rows - top, limits.longest), left});
  return blocks;
}

TensorSample sample_tensor(const Tensor& tensor, const SampleLimits& limits) {
  TensorSample sample{.shape = tensor.shape(),
                      .dtype = tensor.dtype(),
                      .stats = compute_stats(tensor),
                      .blocks = sample_blocks(tensor.shape(), limits),
                      .values = {}};
  const std::vector<float> all = as_floats(tensor);
  for (const SampleBlock& block : sample.blocks)
    sample.values.push_back(values_of(all, columns_of(tensor.shape()), block));
  return sample;
}

Json sample_json(const TensorSample& sample) {
  Json blocks = Json::array();
  for (size_t i = 0; i < sample.blocks.size(); ++i) {
    const SampleBlock& block = sample.blocks[i];
    blocks.push_back({{"row", block.row},
                      {"column", block.column},
                      {"rows", block.rows},
                      {"columns", block.columns},
                      {"data", base64(bytes_of(sample.values[i]))}});
  }
  Json object = tensor_json(sample.shape, sample.dtype, sample.stats);
  object["blocks"] = std::move(blocks);
  return object;
}

namespace {

// Tensors that an op computes on the way and does not store, for a page that shows the arithmetic of its results.
// They have the names that the scripts of the page use. "Own" tensors hold the first segment and the first head of keys
// and values with the heads of queries that share it.
// - attention: own q, own k, own v (rotated), S, P (without dropout), position scores, keep, query angles, key angles
// - rope: angles
// - linear_cross_entropy: logits and dlogits of the first rows
// - other ops with dropout: keep, the factors
using ComputedTensors = std::vector<std::pair<std::string, Tensor>>;

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

ComputedTensors computed_by_forward(const Tape& tape, int number) {
  const Node& node = tape.nodes()[size_t(number)];
  if (node.name() == "attention") return computed_by_attention(tape, number);
  if (node.name() == "linear_cross_entropy") return computed_by_loss(tape, number);
  if (node.name() == "rope") return {{"angles", rope_angles(tape, number)}};
  const DropoutMask dropout = metadata_of(node).dropout;
  if (dropout.rate == 0) return {};
  return {{"keep", factors(tape.kernels(), node.value.shape(), dropout)}};
}

// The gradient of the output of attention in the rows and columns of "own q". It exists only just before the node's
// backward.
Tensor own_gradient(const Node& node, const Shape& own_queries) {
  return corner(node.gradient, own_queries[0], own_queries[1]);
}

// The limits of samples of a node's computed tensors.
SampleLimits computed_limits(const Node& node, const SampleLimits& limits) {
  const int64_t whole = node.name() == "attention"              ? kHeadElements
                        : node.name() == "linear_cross_entropy" ? kLogits
                                                                : 0;
  return {std::max(whole, limits.whole), limits.lines, limits.longest};
}

std::set<int> input_nodes(const Node& node) {
  std::set<int> inputs(node.inputs.begin(), node.inputs.end());
  inputs.erase(-1);
  return inputs;
}

// a - b, in fp32 on the CPU.
Tensor difference(const Tensor& a, const Tensor& b) {
  const Tensor x = a.to_cpu().to(DType::f32), y = b.to_cpu().to(DType::f32);
  Tensor result = x.like();
  for (int64_t i = 0; i < x.size(); ++i) result.data<float>()[i] = x.data<float>()[i] - y.data<float>()[i];
  return result;
}

}  // namespace

void StepRecorder::read_forward(const Tape& tape) {
  const std::vector<Node>& nodes = tape.nodes();
  uses_.resize(nodes.size());
  done_.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].parameter) parameter_nodes_[nodes[i].parameter] = int(i);
    for (const int input : input_nodes(nodes[i])) ++uses_[size_t(input)];
    nodes_.push_back(read(tape, int(i)));
  }
}

RecordedNode StepRecorder::read(const Tape& tape, int number) const {
  const Node& node = tape.nodes()[size_t(number)];
  RecordedNode record;
  record.value = sample_tensor(node.value, limits_);
  if (!node.op) return record;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    RecordedNode::Input& input = record.inputs.emplace_back();
    input.node = node.inputs[i];
    const Tensor& value = node.input_values[i];
    if (input.node < 0 && value) input.constant = sample_tensor(value, limits_);
  }
  OpMetadata metadata;
  node.op->describe(metadata);
  for (const auto& [name, tensor] : metadata.saved) record.saved.emplace_back(name, sample_tensor(tensor, limits_));
  for (const auto& [name, tensor] : computed_by_forward(tape, number))
    record.computed.emplace_back(name, sample_tensor(tensor, computed_limits(node, limits_)));
  return record;
}

void StepRecorder::before_backward(const Tape& tape, int number) {
  const Node& node = tape.nodes()[size_t(number)];
  RecordedStep& step = steps_.emplace_back();
  step.node = number;
  step.bias_done = node.has_bias_gradient;
  nodes_[size_t(number)].gradient = sample_tensor(node.gradient, limits_);
  auto& computed = nodes_[size_t(number)].computed;
  const auto own = std::ranges::find(computed, "own q", [](const auto& named) { return named.first; });
  if (own != computed.end())
    computed.emplace_back("own dout",
                          sample_tensor(own_gradient(node, own->second.shape), computed_limits(node, limits_)));
  before_.clear();
  for (const int input : input_nodes(node))
    if (done_[size_t(input)] > 0) before_[input] = tape.nodes()[size_t(input)].accumulated_gradient().clone();
}

void StepRecorder::after_backward(const Tape& tape, int number) {
  const Node& node = tape.nodes()[size_t(number)];
  std::set<int> known;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int input = node.inputs[i];
    if (input < 0 || !known.insert(input).second) continue;
    ++done_[size_t(input)];
    if (uses_[size_t(input)] > 1) record_path(tape, int(i));
    const Node& leaf = tape.nodes()[size_t(input)];
    if (leaf.op || leaf.parameter || done_[size_t(input)] < uses_[size_t(input)] || !leaf.gradient) continue;
    nodes_[size_t(input)].gradient = sample_tensor(leaf.gradient, limits_);
  }
}

void StepRecorder::record_path(const Tape& tape, int input) {
  RecordedStep& step = steps_.back();
  const int number = tape.nodes()[size_t(step.node)].inputs[size_t(input)];
  const Tensor& sum = tape.nodes()[size_t(number)].accumulated_gradient();
  if (!sum) return;
  RecordedStep::Path& path = step.paths.emplace_back();
  path.input = input;
  path.number = done_[size_t(number)];
  const auto before = before_.find(number);
  if (before != before_.end() && before->second) path.added = sample_tensor(difference(sum, before->second), limits_);
  if (path.number < uses_[size_t(number)]) path.sum = sample_tensor(sum, limits_);
}

void StepRecorder::on_parameter_ready(Parameter& parameter) {
  const int node = parameter_nodes_.at(&parameter);
  if (parameter.gradient) nodes_[size_t(node)].gradient = sample_tensor(parameter.gradient, limits_);
  if (!steps_.empty()) steps_.back().final_parameters.push_back(node);
}

}  // namespace gyre
