#include "gyre/autograd/tape.h"

#include <algorithm>
#include <utility>

namespace gyre {

const PackedWeight& PackedWeights::find(const Tensor& weight) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[{weight.raw(), weight.dim(0)}];
  if (!entry.weight) entry = {weight, kernels_.pack_weight(weight, precision_)};
  return entry.packed;
}

std::shared_ptr<PackedWeights> packed_weights_for(Kernels& kernels, Precision precision) {
  if (kernels.device() != Device{}) return nullptr;
  return std::make_shared<PackedWeights>(kernels, precision);
}

namespace {

// Products of bf16 need operands that begin at a multiple of 16 bytes, or are slow. All parameters do, but not all rows
// of them.
constexpr int64_t kProductAlignment = 8;

}  // namespace

// The state of the tape at the beginning of the checkpoint, with which compute() has the same results again. FLOPs are
// those of the ops that backward records.
struct Tape::Checkpoint final : Op {
  std::function<Var()> compute;
  std::string module;
  uint64_t first_dropout = 0;
  std::string_view name() const override { return "checkpoint"; }
  std::string_view formula() const override { return "y = compute(), which backward calls again to record its ops"; }
  void backward(Backward& /*b*/) override {}  // Tape::run_checkpoint_backward
};

Kernels& Var::kernels() const { return tape_->kernels(); }

bool Var::requires_gradient() const { return node_ >= 0 && tape_->nodes_[size_t(node_)].requires_gradient; }

Tape::Tape(Kernels& kernels, Options options)
    : kernels_(kernels.with_tf32(options.precision == Precision::tf32)), options_(options) {
  require(options.packed == nullptr || !options.record, "[tape] expected no packed weights for a tape that records");
  require(options.packed == nullptr || options.packed->precision() == options.precision,
          "[tape] expected packed weights in the tape's precision");
  require(options.packed != nullptr || options.precision != Precision::int8, "[tape] int8 needs packed weights");
  // CPU products round weights while they pack them, at no cost. Those of few rows, which decoding has, do not pack:
  // they take half the time if they read half the bytes.
  const bool packs = kernels.device() == Device{} && options.record;
  if (options.parameters == nullptr || options.precision != Precision::bf16 || packs || options.packed != nullptr)
    return;
  const Tensor values = options.parameters->values();
  rounded_ = Tensor::empty(values.shape(), DType::bf16, values.device());
  kernels.convert(rounded_, values);
}

Tape::Scope::Scope(Tape& tape, std::string_view name) : tape_(tape), length_(tape.module_.size()) {
  if (length_ > 0) tape_.module_ += '.';
  tape_.module_ += name;
}

Tape::Scope::~Scope() { tape_.module_.resize(length_); }

Var Tape::leaf(Tensor value) {
  if (!options_.record) return constant(std::move(value));
  Node& node = nodes_.emplace_back();
  node.value = value;
  node.requires_gradient = true;
  return {this, int(nodes_.size()) - 1, std::move(value)};
}

Var Tape::parameter(Parameter& p) {
  require(p.value.defined(), "[parameter] ", p.name, " is used before Parameters::allocate");
  if (!options_.record || !p.trainable) return constant(p.value);
  if (parameter_nodes_.size() <= size_t(p.index)) parameter_nodes_.resize(size_t(p.index) + 1, -1);
  int& number = parameter_nodes_[size_t(p.index)];
  if (number < 0) {
    number = leaf(p.value).node();
    nodes_[size_t(number)].parameter = &p;
  }
  require(nodes_[size_t(number)].parameter == &p, "[parameter] ", p.name, " and ",
          nodes_[size_t(number)].parameter->name, " come from different stores: expected parameters of one store");
  if (checkpoint_inputs_ != nullptr) {
    use_in_checkpoint(number);
    return constant(p.value);
  }
  return {this, number, p.value};
}

Var Tape::record(std::unique_ptr<Op> op, Tensor value, const std::vector<Var>& inputs) {
  count_flops(op->flops());
  bool wanted = false;
  for (const Var& v : inputs) {
    require(!v || v.tape_ == this, "[", op->name(), "] every input must come from this tape");
    wanted |= v.requires_gradient();
    if (checkpoint_inputs_ != nullptr && v.requires_gradient()) use_in_checkpoint(v.node());
  }
  if (!recording() || !wanted) return constant(std::move(value));
  Node node;
  for (const Var& v : inputs) {
    node.inputs.push_back(v.requires_gradient() ? v.node() : -1);
    node.input_values.push_back(v.value());
    if (v.requires_gradient() && !op->has_sparse_gradient()) ++nodes_[size_t(v.node())].uses;
  }
  node.op = std::move(op);
  node.value = value;
  node.requires_gradient = true;
  node.module = module_;
  nodes_.push_back(std::move(node));
  const int number = int(nodes_.size()) - 1;
  for (TapeObserver* o : observers_) o->on_record(*this, number);
  return {this, number, std::move(value)};
}

// CPU kernels add biases, which are vectors, in f32.
Tensor Tape::product_weight(const Tensor& weight, DType dtype) const {
  if (!rounded_ || !weight || dtype != DType::bf16) return weight;
  if (kernels_.device() == Device{} && weight.shape().rank() == 1) return weight;
  const Tensor values = options_.parameters->values();
  if (!weight.shares_storage(values)) return weight;
  const int64_t first = weight.data<float>() - values.data<float>();
  if (first % kProductAlignment != 0) return weight;
  return rounded_.slice(first, first + weight.size()).reshape(weight.shape());
}

const PackedWeight* Tape::packed_weight(const Tensor& weight, DType dtype) const {
  // Some data stays f32 on a tape for bf16, and all data is f64 in gradient checks.
  const DType packed_for = options_.precision == Precision::bf16 ? DType::bf16 : DType::f32;
  if (options_.packed == nullptr || weight.dtype() != DType::f32 || dtype != packed_for) return nullptr;
  return &options_.packed->find(weight);
}

void Tape::multiply(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias) const {
  if (const PackedWeight* packed = packed_weight(w, x.dtype())) return kernels_.packed_linear(y, x, *packed, bias, {});
  kernels_.linear(y, x, product_weight(w, x.dtype()), product_weight(bias, y.dtype()));
}

Tensor Tape::gradient_during_forward(const Var& v) const {
  if (!options_.loss_seeded || !v.requires_gradient()) return {};
  Parameter* const parameter = nodes_[size_t(v.node())].parameter;
  return parameter ? parameter->allocated_gradient() : Tensor();
}

std::vector<SparseGradient>* Tape::sparse_gradients(const Var& v) const {
  if (!v.requires_gradient()) return nullptr;
  const Parameter* parameter = nodes_[size_t(v.node())].parameter;
  return parameter ? parameter->sparse_gradients : nullptr;
}

DropoutMask Tape::next_dropout(std::string_view op, double rate) {
  require(rate >= 0 && rate < 1, "[", op, "] the rate must be at least 0 and below 1, got ", rate);
  if (!options_.training || rate == 0) return {};
  return {rate, options_.seed, dropouts_++};
}

void Tape::backward(const Var& output, Tensor cotangent) {
  require(!backward_done_, "[backward] expected a single call per tape: the first call freed the saved tensors");
  require(output.requires_gradient(), "[backward] expected an output that depends on a leaf or a trainable parameter");
  if (!cotangent) {
    require(output.value().size() == 1, "[backward] an output of shape ", output.shape(), " needs a cotangent");
    cotangent = Tensor::from<double>(output.shape(), std::vector<double>{1}).to(output.value().dtype());
    const Op* const op = nodes_[size_t(output.node())].op.get();
    if (op == nullptr || !op->reads_cotangent_on_cpu()) cotangent = cotangent.to(output.value().device());
  } else {
    require(cotangent.device() == output.value().device(), "[backward] the cotangent must be on the output's device ",
            output.value().device(), ", got ", cotangent.device());
    require(cotangent.dtype() == output.value().dtype(), "[backward] the cotangent must have the output's dtype ",
            output.value().dtype(), ", got ", cotangent.dtype());
  }
  require(cotangent.shape() == output.shape(), "[backward] the cotangent must have the output's shape ", output.shape(),
          ", got ", cotangent.shape());
  backward_done_ = true;
  accumulate(output.node(), cotangent, true);
  notify_unused_parameters();
  run_backward(0);
}

// Runs backward of the nodes from the last one to `first`.
void Tape::run_backward(size_t first) {
  for (size_t i = nodes_.size(); i-- > first;) {
    if (dynamic_cast<const Checkpoint*>(nodes_[i].op.get()) != nullptr) run_checkpoint_backward(i);
    Node& node = nodes_[i];
    if (!node.op) continue;
    if (node.gradient) {
      for (TapeObserver* o : observers_) o->before_backward(*this, int(i));
      Backward b(*this, node);
      node.op->backward(b);
      for (auto& [target, gradient] : b.pending_) accumulate(target, gradient, false);
      for (TapeObserver* o : observers_) o->after_backward(*this, int(i));
    }
    if (!node.op->has_sparse_gradient()) release_inputs(node);
    node.input_values.clear();
    node.op.reset();
    node.value = node.gradient = {};
  }
}

const Tensor& Tape::gradient(const Var& leaf) const {
  require(leaf.node() >= 0, "[gradient] a constant has no gradient");
  return nodes_[size_t(leaf.node())].gradient;
}

// Adds to a node's gradient. A shared tensor is also the gradient of another node, so it is replaced, not modified.
void Tape::accumulate(int number, const Tensor& gradient, bool shared) {
  Node& node = nodes_[size_t(number)];
  if (node.parameter) {
    const Tensor& sum = node.parameter->allocated_gradient();
    kernels_.add(sum, sum, gradient);
  } else if (!node.gradient) {
    node.gradient = gradient;
    node.gradient_shared = shared;
  } else {
    const Tensor sum = node.gradient_shared ? node.gradient.like() : node.gradient;
    kernels_.add(sum, node.gradient, gradient);
    node.gradient = sum;
    node.gradient_shared = false;
  }
}

// Marks the node's inputs as used by its backward. The gradient of a parameter without further uses is final.
void Tape::release_inputs(Node& node) {
  for (int input : node.inputs) {
    if (input < 0) continue;
    Node& used = nodes_[size_t(input)];
    if (--used.uses == 0 && used.parameter) notify_parameter_ready(*used.parameter);
  }
}

void Tape::notify_parameter_ready(Parameter& parameter) {
  for (TapeObserver* o : observers_) o->on_parameter_ready(parameter);
}

// The gradients of parameters to which no backward adds are final from the beginning.
void Tape::notify_unused_parameters() {
  for (const int node : parameter_nodes_) {
    if (node >= 0 && nodes_[size_t(node)].uses == 0) notify_parameter_ready(*nodes_[size_t(node)].parameter);
  }
}

int Backward::input_node(int i) const { return node_.inputs[size_t(i)]; }

Tensor Backward::dinput(int i) {
  const int number = input_node(i);
  if (number < 0) return {};
  Node& target = tape_.nodes_[size_t(number)];
  Tensor fresh = input(i).like();
  if (target.parameter || target.gradient) {
    pending_.emplace_back(number, fresh);
  } else {
    target.gradient = fresh;
    target.gradient_shared = false;
  }
  return fresh;
}

Backward::GradientSum Backward::dinput_sum(int i) {
  const int number = input_node(i);
  if (number < 0) return {};
  Node& target = tape_.nodes_[size_t(number)];
  if (target.parameter || !target.gradient) return {dinput(i), {}};
  const Tensor before = target.gradient;
  if (target.gradient_shared) target.gradient = before.like();
  target.gradient_shared = false;
  return {target.gradient, before};
}

Backward::GradientWithBias Backward::dinput_with_bias(int i) {
  const int number = input_node(i);
  if (number < 0) return {};
  Node& target = tape_.nodes_[size_t(number)];
  Tensor dbias;
  if (target.op && target.uses == 1 && !target.gradient) {  // this op is the only use of the input
    Backward of_target(tape_, target);
    dbias = target.op->bias_gradient(of_target);
    if (dbias && is_gradient_of_input(dbias)) dbias = {};
    target.has_bias_gradient = dbias.defined();
  }
  return {dinput(i), dbias};
}

bool Backward::is_gradient_of_input(const Tensor& gradient) const {
  return std::any_of(node_.inputs.begin(), node_.inputs.end(), [&](int number) {
    if (number < 0) return false;
    const Node& input = tape_.nodes_[size_t(number)];
    const Tensor& own = input.parameter ? input.parameter->gradient : input.gradient;
    return own && own.raw() == gradient.raw();
  });
}

Tensor Backward::dparameter(int i) {
  const int number = input_node(i);
  if (number < 0) return {};
  Node& target = tape_.nodes_[size_t(number)];
  if (target.parameter) return target.parameter->allocated_gradient();
  if (!target.gradient) {
    target.gradient = Tensor::zeros(input(i).shape(), input(i).dtype(), input(i).device());
    target.gradient_shared = false;
  } else if (target.gradient_shared) {
    target.gradient = target.gradient.clone();
    target.gradient_shared = false;
  }
  return target.gradient;
}

void Backward::set_gradient(int i, const Tensor& gradient) {
  if (const int number = input_node(i); number >= 0) tape_.accumulate(number, gradient, false);
}

void Backward::forward_gradient(int i) {
  if (const int number = input_node(i); number >= 0)
    tape_.accumulate(number, doutput().reshape(input(i).shape()), true);
}

// ---- Activation checkpointing --------------------------------------------------------------------------------------
// Forward computes a part of a model without recording. When backward reaches the node of
// this part, all later nodes are done: the part is computed once more, its ops are recorded at the end of the tape,
// backward runs through them, and they are removed. They refer to the same nodes outside as without a checkpoint, so
// every gradient is summed by the same kernels in the same order.

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
