// The output layer of a loss, logits = x(n,d) w(v,d)^T + bias(v), computed in chunks of rows, so that the logits of the
// whole batch are never in memory at once. Each chunk's gradients are computed for dloss = 1 while its logits are in
// cache; backward only multiplies them by dloss.
#pragma once

#include <functional>
#include <string_view>

#include "gyre/autograd/tape.h"

namespace gyre {

// Checks the targets of a loss and returns the number of those that are not ignored. `op`: for errors.
int64_t count_targets(std::string_view op, const Tensor& targets, int64_t rows, int64_t vocabulary);

// A parameter's gradient for dloss = 1, computed in the forward pass.
struct FusedGradient {
  Tensor sum;    // the tensor that forward adds to; undefined if the parameter requires no gradient
  Tensor saved;  // `sum`, if backward has to add it; undefined if `sum` is the parameter's gradient itself

  explicit FusedGradient(const Var& v);
  // `op`: for errors.
  void add_to(std::string_view op, const Tensor& gradient, double factor, Kernels& kernels) const;
};

// The gradients of a loss op with the inputs x, w and bias, for dloss = 1: what the op saves.
class LinearLoss {
 public:
  // Checks the shapes. `op`: for errors, the name of the op. The bias may be an empty Var.
  LinearLoss(std::string_view op, const Var& x, const Var& w, const Var& bias);

  // Computes the logits of all rows, and gradients from those that `loss` leaves in their place. x holds the rows of
  // `passes` passes, one pass after the other; a chunk has the rows begin .. end - 1 of each pass, also one pass after
  // the other. loss(logits, begin, end): the logits may have more than v columns, for alignment. It must replace them
  // by their gradients if wants_gradient().
  using ChunkLoss = std::function<void(const Tensor& logits, int64_t begin, int64_t end)>;
  void run(const Var& x, const Var& w, const Var& bias, int passes, const ChunkLoss& loss) const;

  bool wants_gradient() const { return dx_ || dw_.sum || dbias_.sum; }
  void backward(Backward& b) const;
  void describe(OpMetadata& metadata) const;
  double flops() const { return flops_; }

 private:
  std::string_view op_;
  Tensor dx_;
  FusedGradient dw_, dbias_;
  double flops_;
};

}  // namespace gyre
