#include "tools/page/tape/step_recorder.h"

#include <algorithm>
#include <set>

#include "tools/page/tape/computed_tensors.h"

namespace gyre {
namespace {

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
