// Activation checkpointing. Forward computes a part of a model without recording. When backward reaches the node of
// this part, all later nodes are done: the part is computed once more, its ops are recorded at the end of the tape,
// backward runs through them, and they are removed. They refer to the same nodes outside as without a checkpoint, so
// every gradient is summed by the same kernels in the same order.
#include "gyre/autograd/checkpoint.h"

#include <algorithm>
#include <utility>

namespace gyre {
namespace {

// Sets a variable until the end of the scope.
template <class T>
class Replaced {
 public:
  Replaced(T& variable, T value) : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
  ~Replaced() { variable_ = std::move(before_); }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  T& variable_;
  T before_;
};

}  // namespace

Var Tape::checkpoint(Recompute part, std::function<Var()> compute) {
  if (!recording() || part == Recompute::none || part != options_.recompute) return compute();
  auto op = std::make_unique<Checkpoint>();
  op->compute = std::move(compute);
  op->module = module_;
  op->first_dropout = dropouts_;
  Node node;
  {
    const Replaced without_recording(checkpoint_inputs_, &node.inputs);
    node.value = op->compute().value();
  }
  if (node.inputs.empty()) return constant(std::move(node.value));
  for (const int input : node.inputs) {
    node.input_values.push_back(nodes_[size_t(input)].value);
    ++nodes_[size_t(input)].uses;
  }
  node.op = std::move(op);
  node.requires_gradient = true;
  node.module = module_;
  nodes_.push_back(std::move(node));
  const int number = int(nodes_.size()) - 1;
  for (TapeObserver* o : observers_) o->on_record(*this, number);
  return {this, number, nodes_.back().value};
}

void Tape::use_in_checkpoint(int node) {
  std::vector<int>& inputs = *checkpoint_inputs_;
  if (std::find(inputs.begin(), inputs.end(), node) == inputs.end()) inputs.push_back(node);
}

Var Tape::recorded_again(const Checkpoint& checkpoint) {
  const Replaced module(module_, checkpoint.module);
  const Replaced dropouts(dropouts_, checkpoint.first_dropout);
  const Replaced flops(flops_, flops_);  // the FLOPs of the model count once
  const Replaced recomputing(recomputing_, true);
  return checkpoint.compute();
}

void Tape::run_checkpoint_backward(size_t number) {
  Node node = std::move(nodes_[number]);
  node.value = {};
  node.input_values.clear();
  const size_t first = nodes_.size();
  Var output;
  if (node.gradient) output = recorded_again(static_cast<const Checkpoint&>(*node.op));
  release_inputs(node);  // the ops of the checkpoint use them now
  if (output.requires_gradient()) accumulate(output.node(), std::exchange(node.gradient, {}), node.gradient_shared);
  output = {};
  run_backward(first);
  nodes_.erase(nodes_.begin() + int64_t(first), nodes_.end());
}

}  // namespace gyre
