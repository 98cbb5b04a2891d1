// The update rule of an optimizer, such as Adam or Muon. A new rule is a class and a row of the table, both in
// train/optim/update_rule.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/optim/optimizer_options.h"
#include "gyre/train/optim/update_plan.h"

namespace gyre {

struct RuleStep {
  double learning_rate = 0;
  uint64_t number = 1;  // number of this update since the state was zero, from 1
};

// The tensors of an update.
struct RuleTensors {
  Tensor weights;             // the arena
  Tensor gradients;           // the arena, or OptimizerPartition::packed_gradients()
  std::vector<Tensor> state;  // one tensor per slot: what it covers
};

// State that a rule keeps for parameters, zero at first. Checkpoints name it "<name>.<parameter>".
struct Slot {
  enum class Covers : uint8_t {
    elements,  // a number per element of all parameters, apart from those with matrices
    matrices,  // a number per element of parameters with matrices
    rows,      // a number per row of parameters with matrices
  };
  std::string name;
  Covers covers;
};

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  virtual std::vector<Slot> slots() const = 0;
  // Whether the rule updates matrices as wholes, apart from the elements of other parameters.
  virtual bool updates_matrices() const { return false; }
  // The largest norm, after clipping, of a gradient that can be applied without making weights or state infinite.
  virtual double largest_norm(DType dtype) const = 0;
  // Updates the weights of the plan in place and sets their gradients to zero. Multiplies the gradients by the factor
  // of the verdict (Kernels::judge_gradient). If it rejects the update, weights and state do not change.
  virtual void update(Kernels& kernels, const RuleTensors& tensors, const UpdatePlan& plan, const Tensor& verdict,
                      const RuleStep& step) const = 0;
};

// The choices of --optimizer.
std::vector<std::string> update_rule_names();
// Throws UsageError for an unknown rule, and for options that the rule cannot use.
std::unique_ptr<UpdateRule> make_update_rule(const OptimizerOptions& options);

// Orthogonalizes a matrix for Muon by the iteration of Newton and Schulz. Returns an approximation of U V^T, where
// x(rows, cols) = U S V^T: singular values of the result are between about 0.7 and 1.2. Five iterations of X <- (a + b
// X X^T + c (X X^T)^2) X from X = x / |x|, with the coefficients of Jordan et al. 2024
// (https://kellerjordan.github.io/posts/muon). The products are of size min(rows, cols). x = 0 gives 0. `precision`:
// that of the products of f32 matrices. bf16 rounds their operands, as Jordan et al. do; the norm, the Gram matrices
// and the polynomial are computed in fp32. Throws Error for bf16 if the kernels do not support it. Matrices in f64 are
// multiplied in f64. In fp32 and f64, if one side is at least 1.5 times the other, the iteration runs on the Gram
// matrix, which takes fewer operations. In fp32 this changes the result by 1e-5 to 1e-3 of its norm, most for matrices
// of low rank.
Tensor orthogonalize(Kernels& kernels, const Tensor& x, Precision precision);

// The floating-point operations for the matrices of a parameter. CPUs compute half of most symmetric products.
double orthogonalization_flops(const Parameter& parameter, Precision precision, Device device);

// y = x / max(|x|_F, 1e-7); y may be x.
void normalize(Kernels& kernels, const Tensor& y, const Tensor& x);

}  // namespace gyre
