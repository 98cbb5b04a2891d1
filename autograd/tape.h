// The tape: a vector of nodes in creation order, which is already topological. Backward walks it from the end and frees
// what each node saved as it goes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/op_facts.h"
#include "autograd/parameters.h"
#include "core/kernels.h"

namespace gyre {

class Backward;
class Tape;

// FLOPs of forward and backward together, by those of forward (Op::flops): backward has two products for each, and what
// it computes again does not count.
inline constexpr double kForwardAndBackward = 3;

// A differentiable operation: what it saved for backward, and backward itself. One op, one file in autograd/ops.
class Op {
 public:
  virtual ~Op() = default;
  virtual std::string_view name() const = 0;
  virtual void backward(Backward& b) = 0;
  // Floating-point operations of the forward pass: two per multiply-add of products and of attention, 0 for all else.
  virtual double flops() const { return 0; }
  // For those who look at the tape. The formula: forward, and below it, indented, backward; dx is the loss's gradient
  // by x.
  virtual std::string_view formula() const { return {}; }
  virtual void describe(OpFacts& /*facts*/) const {}
  // Whether backward leaves the gradients of parameters for others to add (RowGradient).
  virtual bool leaves_row_gradients() const { return false; }
};

// A value on a tape.
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
  int node_ = -1;  // -1: a constant, or a tape that does not record
  Tensor value_;
};

struct Node {
  std::unique_ptr<Op> op;   // none for leaves
  std::vector<int> inputs;  // node numbers; -1 for constants
  std::vector<Tensor> input_values;
  Tensor value;
  Tensor gradient;
  bool gradient_shared = false;  // aliases another node's gradient: must not be added to in place
  bool requires_gradient = false;
  Parameter* parameter = nullptr;  // leaves of parameters
  int uses = 0;                    // consumers whose backward is still to come and adds to the gradient
  std::string module;              // path of the module that recorded it: "encoder.layer.0.attention"
  std::string_view name() const { return op ? op->name() : parameter ? "parameter" : "leaf"; }
  // What has been added to it so far: a parameter's lies in its store.
  const Tensor& gradient_so_far() const { return parameter ? parameter->gradient : gradient; }
};

// Looks at the tape without changing an op: profiler, tracer, NaN finder, the data-parallel reducer.
class TapeObserver {
 public:
  virtual ~TapeObserver() = default;
  virtual void on_record(const Tape&, int /*node*/) {}
  virtual void before_backward(const Tape&, int /*node*/) {}
  virtual void after_backward(const Tape&, int /*node*/) {}
  virtual void on_parameter_ready(Parameter&) {}  // its gradient is final
};

class Tape {
 public:
  // dropout: the seed from which every mask of this forward pass follows; training = false turns dropout off.
  // precision bf16: parameters and their gradients stay f32.
  // unit_cotangent: a promise that backward follows, from the loss and with cotangent 1. What the forward pass knows of
  // a parameter's gradient is then added at once.
  struct Options {
    bool record = true;
    bool training = false;
    uint64_t seed = 0;
    Precision precision = Precision::fp32;
    bool unit_cotangent = false;
  };
  Tape(Kernels& kernels, Options options) : kernels_(kernels), options_(options) {
    kernels.set_tf32(options.precision == Precision::tf32);
  }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  Kernels& kernels() const { return kernels_; }
  bool training() const { return options_.training; }
  bool recording() const { return options_.record; }
  // Of the data that ops make from a parameter (embeddings); what follows takes the type of its input.
  DType data_dtype(const Tensor& parameter) const {
    return options_.precision == Precision::bf16 ? DType::bf16 : parameter.dtype();
  }

  Var constant(Tensor value) { return {this, -1, std::move(value)}; }
  Var leaf(Tensor value);       // wants a gradient: gradient(var) after backward
  Var parameter(Parameter& p);  // its gradient accumulates in p.gradient

  // Called by ops in forward: the gradient of a parameter to add to, with unit_cotangent; otherwise undefined.
  Tensor early_gradient(const Var& v) const;

  // Called by ops in forward: where a lookup of rows of this parameter leaves their gradient; none: it adds it.
  std::vector<RowGradient>* row_gradients(const Var& v) const;

  // Called by ops: appends a node. Keeps nothing when the tape does not record or no input wants a gradient.
  Var record(std::unique_ptr<Op> op, Tensor value, std::initializer_list<Var> inputs);

  // Each dropout of a forward pass has its own stream of random numbers, in creation order. Rate 0 when the tape does
  // not train.
  DropoutMask next_dropout(double rate);

  // d(output)/d(every leaf), contracted with `cotangent` (default: 1, for a scalar output). Once per tape.
  void backward(const Var& output, Tensor cotangent = {});
  const Tensor& gradient(const Var& leaf) const;

  // Of the forward pass so far, recorded or not. Work that goes past the ops counts itself.
  double flops() const { return flops_; }
  void count_flops(double flops) { flops_ += flops; }

  void add_observer(TapeObserver& observer) { observers_.push_back(&observer); }
  const std::vector<Node>& nodes() const { return nodes_; }

  // Names the module that records from here to the end of the scope.
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
  void accumulate(int node, const Tensor& gradient, bool shared);
  void release_inputs(Node& node);
  void announce(Parameter& parameter);
  void announce_unused();

  Kernels& kernels_;
  Options options_;
  std::vector<Node> nodes_;
  std::vector<TapeObserver*> observers_;
  std::vector<int> parameter_nodes_;  // node of each parameter by its index, -1 when not used yet
  std::string module_;
  uint64_t dropouts_ = 0;
  double flops_ = 0;
  bool walked_ = false;
};

// What an op's backward sees.
class Backward {
 public:
  Backward(Tape& tape, Node& node) : tape_(tape), node_(node) {}
  Kernels& kernels() const { return tape_.kernels(); }
  const Tensor& doutput() const { return node_.gradient; }
  const Tensor& output() const { return node_.value; }
  const Tensor& input(int i) const { return node_.input_values[size_t(i)]; }
  // Gradient of data input i, to be overwritten (=). Undefined when it is not wanted.
  Tensor dinput(int i);
  // Gradient of parameter input i, to be added to (+=). Undefined when it is not wanted.
  Tensor dparameter(int i);
  // The gradient of input i is that of the output: handed on without a copy.
  void pass(int i);

 private:
  friend class Tape;
  int wanted(int i) const;  // node number of input i, or -1
  Tape& tape_;
  Node& node_;
  std::vector<std::pair<int, Tensor>> pending_;  // second gradients of one node: added after the op's backward
};

}  // namespace gyre
