// The update rule of an optimizer, such as Adam or Muon. A new rule is a class and a row of the table, both in
// train/optim/update_rule.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

}  // namespace gyre
