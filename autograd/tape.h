// Reverse-mode automatic differentiation. The tape is a vector of nodes in creation order, which is a topological
// order. Backward visits the nodes from last to first and frees each node's saved tensors once they are used.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/autograd/recompute.h"
#include "gyre/core/error.h"
#include "gyre/core/kernels/arguments.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/tensor.h"

namespace gyre {

// Metadata of an op for inspection tools (autograd/inspect/tape_rows.h). Training does not use it.
struct OpMetadata {
  std::vector<std::pair<std::string, std::string>> attributes;  // ("heads", "8")
  std::vector<std::pair<std::string, Tensor>> saved;  // tensors that the op keeps besides its inputs and output
  DropoutMask dropout;  // elementwise, in the shape of the output; not that of attention weights

  template <class T>
  void attribute(std::string_view name, const T& value) {
    attributes.emplace_back(name, concat(value));
  }
  // Ignores an undefined tensor: the op did not save it.
  void save(std::string_view name, const Tensor& tensor) {
    if (tensor) saved.emplace_back(name, tensor);
  }
};

// Packed weights of a model, for tapes that do not record: products need not pack them each time, and products in int8
// round them once. A weight is packed at its first use, and must not change afterwards. Thread-safe.
class PackedWeights {
 public:
  // fp32, bf16 or int8, for kernels of a CPU.
  PackedWeights(Kernels& kernels, Precision precision) : kernels_(kernels), precision_(precision) {}

  Precision precision() const { return precision_; }

  // The packed form of a weight, f32 (o,d), which may be some rows of a parameter.
  const PackedWeight& find(const Tensor& weight);

 private:
  struct Entry {
    Tensor weight;  // keeps the address from being used again
    PackedWeight packed;
  };

  Kernels& kernels_;
  Precision precision_;
  std::mutex mutex_;
  std::map<std::pair<const void*, int64_t>, Entry> entries_;  // keyed by the address and the number of rows
};

// Packed weights for these kernels; null for GPUs, which read weights as they are.
std::shared_ptr<PackedWeights> packed_weights_for(Kernels& kernels, Precision precision);

class Backward;
class Tape;

// Ratio of the FLOPs of forward plus backward to those of forward (Op::flops): backward computes two products for each
// product of forward. Recomputation in backward does not count.
inline constexpr double kTrainingFlopsFactor = 3;

// A differentiable operation: the tensors it saves for backward, and the backward function. autograd/ops has one file
// per op or family of ops.
class Op {
 public:
  virtual ~Op() = default;
  virtual std::string_view name() const = 0;
  virtual void backward(Backward& b) = 0;
  // For ops that add a bias to each row of their output: its gradient, to which sum_rows(doutput) is added. The op that
  // computes doutput may add it in the same pass (Backward::dinput_with_bias). It may only call b.dparameter(): doutput
  // need not exist yet.
  virtual Tensor bias_gradient(Backward& /*b*/) const { return {}; }
  // Floating-point operations of the forward pass: two per multiply-add of matrix products and of attention. All other
  // operations count as 0.
  virtual double flops() const { return 0; }
  // For inspection tools: the formula of forward and, indented below it, of backward. dx denotes the gradient of the
  // loss with respect to x.
  virtual std::string_view formula() const { return {}; }
  // For inspection tools: adds the op's attributes and saved tensors to the metadata.
  virtual void describe(OpMetadata& /*metadata*/) const {}
  // True if backward stores sparse gradients of its parameters (SparseGradient) instead of adding to the dense ones.
  virtual bool has_sparse_gradient() const { return false; }
  // True for losses: backward takes the gradient of the output as a number, and copies it from a GPU if it is there.
  // Tape::backward() then leaves its default cotangent on the CPU, so that no step waits for the copy.
  virtual bool reads_cotangent_on_cpu() const { return false; }
};

// A handle to a value on a tape. An empty Var stands for an absent optional input.
class Var {
 public:
  Var() = default;
  const Tensor& value() const { return value_; }
  const Shape& shape() const { return value_.shape(); }
  Tape& tape() const { return *tape_; }
  Kernels& kernels() const;
  bool requires_gradient() const;
  int node() const { return node_; }
  explicit operator bool() const { return tape_ != nullptr; }

 private:
  friend class Tape;
  Var(Tape* tape, int node, Tensor value) : tape_(tape), node_(node), value_(std::move(value)) {}
  Tape* tape_ = nullptr;
  int node_ = -1;  // -1: a constant, or the tape does not record
  Tensor value_;
};

// A node of a tape: a recorded op, or a leaf.
struct Node {
  std::unique_ptr<Op> op;   // null for leaves
  std::vector<int> inputs;  // node numbers; -1 for constants
  std::vector<Tensor> input_values;
  Tensor value;
  Tensor gradient;
  bool gradient_shared = false;    // aliases another node's gradient: must not be modified in place
  bool has_bias_gradient = false;  // the consumer has added the op's bias gradient
  bool requires_gradient = false;
  Parameter* parameter = nullptr;  // set for leaves that are parameters
  int uses = 0;                    // consumers whose backward has not run yet and will add to the gradient
  std::string module;              // path of the module that recorded the node: "encoder.layers.0.self_attn"
  std::string_view name() const { return op ? op->name() : parameter ? "parameter" : "leaf"; }
  // The gradient accumulated so far, or undefined. A parameter accumulates its gradient in Parameter::gradient.
  const Tensor& accumulated_gradient() const { return parameter ? parameter->gradient : gradient; }
};

// Callbacks during recording and backward, independent of the ops. The profiler, the tracer, the NaN finder and the
// data-parallel reducer implement them. A checkpoint is recorded as one node, and the nodes that its backward records
// again (Tape::recomputing) have backward callbacks instead of it.
class TapeObserver {
 public:
  virtual ~TapeObserver() = default;
  virtual void on_record(const Tape&, int /*node*/) {}
  virtual void before_backward(const Tape&, int /*node*/) {}
  virtual void after_backward(const Tape&, int /*node*/) {}
  virtual void on_parameter_ready(Parameter&) {}  // the parameter's gradient is final
};

class Tape {
 public:
  // seed: determines every dropout mask of this forward pass. training = false turns dropout off.
  // precision: with bf16, parameters and their gradients stay f32.
  // loss_seeded: the caller promises to run backward from the loss with cotangent 1. Ops may then add to a parameter's
  // gradient during the forward pass (gradient_during_forward).
  // parameters: those of the model, which must not change during the tape's life. A tape for bf16 rounds all of them at
  // once, so that products need not round each weight again; on the CPU, only if it does not record.
  // recompute: the parts of a model that checkpoint() computes again in backward.
  // packed: for products of a tape that does not record, in its precision. int8 requires it; null: products pack their
  // weights themselves.
  // composed: for tests. Every op runs its composed definition.
  struct Options {
    bool record = true;
    bool training = false;
    uint64_t seed = 0;
    Precision precision = Precision::fp32;
    bool loss_seeded = false;
    const Parameters* parameters = nullptr;
    Recompute recompute = Recompute::none;
    PackedWeights* packed = nullptr;
    bool composed = false;
  };
  Tape(Kernels& kernels, Options options);
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Kernels& kernels() const { return kernels_; }
  bool training() const { return options_.training; }
  bool recording() const { return options_.record && checkpoint_inputs_ == nullptr; }
  Precision precision() const { return options_.precision; }
  // Dtype of the data that an op computes from a parameter alone (embedding). Other ops use the dtype of their input.
  DType data_dtype(const Tensor& parameter) const {
    const bool rounds = options_.precision == Precision::bf16 && parameter.dtype() == DType::f32;
    return rounds ? DType::bf16 : parameter.dtype();
  }
  // Called by ops: whether to run the kernels of this op. If not, the op runs its composed definition
  // (core/kernels/fused_op.h).
  bool fused(FusedOp Kernels::*op) const { return !options_.composed && !(kernels_.*op).runs_composed(); }

  Var constant(Tensor value) { return {this, -1, std::move(value)}; }
  Var leaf(Tensor value);       // requires a gradient: read it with gradient(leaf) after backward
  Var parameter(Parameter& p);  // backward adds to p.gradient; a frozen parameter is a constant

  // Called by ops with a weight of a product, or some of its rows: returns its copy in this dtype if the tape has one,
  // else the weight itself.
  Tensor product_weight(const Tensor& weight, DType dtype) const;

  // Called by ops: the packed form of this weight, or of some of its rows, for data of this dtype; null if the tape has
  // none.
  const PackedWeight* packed_weight(const Tensor& weight, DType dtype) const;
  // Called by ops: y(n,o) = x(n,d) w(o,d)^T + bias(o), with the packed form or the copy of w that the tape has. The
  // bias may be undefined.
  void multiply(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias) const;

  // Called by ops in forward: the gradient tensor of parameter `v`, to which the op may add immediately. Undefined
  // without loss_seeded, and if `v` is not a trainable parameter.
  Tensor gradient_during_forward(const Var& v) const;

  // Called by lookup ops in forward: the list that receives the sparse gradients of parameter `v`. Null: backward adds
  // to the dense gradient.
  std::vector<SparseGradient>* sparse_gradients(const Var& v) const;

  // Called by ops: appends a node with this output value. Returns a constant, and keeps nothing, if the tape does not
  // record or no input requires a gradient. Absent inputs are empty. Throws if an input is from another tape.
  Var record(std::unique_ptr<Op> op, Tensor value, const std::vector<Var>& inputs);

  // Returns compute(). If the options select `part`, the tape keeps nothing of it but the values from outside that it
  // uses: compute() is a copy of the function, which backward calls a second time, and records then. It must be a pure
  // function of the Vars that it captures, of parameters and of the tape's dropout masks, and must contain no loss.
  // Gradients and their order are those without a checkpoint. Checkpoints may be nested.
  Var checkpoint(Recompute part, std::function<Var()> compute);
  // True while backward records the ops of a checkpoint.
  bool recomputing() const { return recomputing_; }

  // The mask of the next dropout. Each dropout of a forward pass has its own stream of random numbers, numbered in
  // creation order. The mask has rate 0 if the tape is not in training mode. Throws, with the op's name, unless 0 <=
  // rate < 1.
  DropoutMask next_dropout(std::string_view op, double rate);

  // Computes d(output)/d(leaf) for every leaf, contracted with `cotangent`, which has the output's shape, dtype and
  // device (default: 1, for a scalar output). Throws if it is called a second time, or if the output requires no
  // gradient.
  void backward(const Var& output, Tensor cotangent = {});
  // The gradient of a leaf() after backward; undefined if the output does not depend on it. Throws for a constant.
  const Tensor& gradient(const Var& leaf) const;

  // FLOPs of the forward pass so far, recorded or not. Code that calls kernels without an op adds its own count.
  double flops() const { return flops_; }
  void count_flops(double flops) { flops_ += flops; }

  void add_observer(TapeObserver& observer) { observers_.push_back(&observer); }
  const std::vector<Node>& nodes() const { return nodes_; }

  // Appends `name` to the module path of the nodes that are recorded until the end of the scope.
  class Scope {
   public:
    Scope(Tape& tape, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Tape& tape_;
    size_t length_;
  };

 private:
  friend class Backward;
  friend class Var;
  struct Checkpoint;
  void use_in_checkpoint(int node);
  Var recorded_again(const Checkpoint& checkpoint);
  void run_backward(size_t first);
  void run_checkpoint_backward(size_t number);
  void accumulate(int node, const Tensor& gradient, bool shared);
  void release_inputs(Node& node);
  void notify_parameter_ready(Parameter& parameter);
  void notify_unused_parameters();

  Kernels& kernels_;
  Options options_;
  std::vector<Node> nodes_;
  std::vector<TapeObserver*> observers_;
  Tensor rounded_;                    // the parameters' arena in bf16; undefined if products round their weights
  std::vector<int> parameter_nodes_;  // node of each parameter, by Parameter::index; -1: not used yet
  std::string module_;
  uint64_t dropouts_ = 0;
  double flops_ = 0;
  bool backward_done_ = false;
  bool recomputing_ = false;
  std::vector<int>* checkpoint_inputs_ = nullptr;  // nodes that the forward pass of a checkpoint has used so far
};

// The arguments of an op's backward: the node's inputs, output and gradients.
class Backward {
 public:
  Backward(Tape& tape, Node& node) : tape_(tape), node_(node) {}
  Kernels& kernels() const { return tape_.kernels(); }
  const Tensor& doutput() const { return node_.gradient; }
  const Tensor& output() const { return node_.value; }
  const Tensor& input(int i) const { return node_.input_values[size_t(i)]; }
  Tensor product_weight(const Tensor& weight, DType dtype) const { return tape_.product_weight(weight, dtype); }
  // Gradient of input i, to be overwritten (=). Undefined if the input requires no gradient. The input may be a
  // parameter: the result is then added to its gradient after the op's backward.
  Tensor dinput(int i);
  // The same as a sum, for kernels that can add: they compute to = before + (gradient of this use). `before`, from
  // other uses of the input, is undefined if there is none, and may be `to`.
  struct GradientSum {
    Tensor to, before;
  };
  GradientSum dinput_sum(int i);
  // dinput(i) for an op that can also sum it over its rows in the pass that computes it. If `dbias` is defined, the op
  // must add these sums to it: it belongs to the op that computed the input, and no other op adds to this dinput. It is
  // never one of this op's own gradients.
  struct GradientWithBias {
    Tensor dinput, dbias;
  };
  GradientWithBias dinput_with_bias(int i);
  // True if another op has added to this op's bias_gradient().
  bool has_bias_gradient() const { return node_.has_bias_gradient; }
  // Gradient of parameter input i, to be added to (+=). Undefined if the input requires no gradient.
  Tensor dparameter(int i);
  // Passes the gradient of the output to input i, in the shape of the input, without a copy.
  void forward_gradient(int i);
  // Passes a gradient that forward computed to input i, without a copy. The op must not use it any more.
  void set_gradient(int i, const Tensor& gradient);

 private:
  friend class Tape;
  int input_node(int i) const;                              // node number of input i, or -1
  bool is_gradient_of_input(const Tensor& gradient) const;  // true if it is the gradient of an input
  Tape& tape_;
  Node& node_;
  // Gradients for nodes that already have one: added after the op's backward.
  std::vector<std::pair<int, Tensor>> pending_;
};

}  // namespace gyre
