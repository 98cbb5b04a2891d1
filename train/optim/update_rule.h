// The update rule of an optimizer, such as Adam. A new rule is one file that makes an UpdateRule, and one line in
// train/optim/update_rules.inc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/train/optim/optimizer_options.h"

namespace gyre {

struct RuleStep {
  double learning_rate = 0;
  double weight_decay = 0;  // of the ranges that are decayed
  uint64_t number = 1;      // of this update since the state was zero, from 1
};

// The arenas of an update.
struct RuleTensors {
  Tensor weights, gradients;
  std::vector<Tensor> state;  // one tensor per slot: the owned elements of an arena
};

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  // The tensors that the rule keeps for each parameter, zero at first, in the parameter's shape and type. Checkpoints
  // name them "<slot>.<parameter>".
  virtual std::vector<std::string> slots() const = 0;
  // The largest norm, after clipping, of a gradient that can be applied without making weights or state infinite.
  virtual double largest_norm(DType dtype) const = 0;
  // Updates the ranges of the weights in place and sets their gradients to zero. Multiplies the gradients by the factor
  // of the verdict (Kernels::judge_gradient). If it rejects the update, weights and state do not change.
  virtual void update(Kernels& kernels, const RuleTensors& tensors, const UpdateRanges& ranges, const Tensor& verdict,
                      const RuleStep& step) const = 0;
};

// The choices of --optimizer.
std::vector<std::string> update_rule_names();
// Throws UsageError for an unknown rule, and for options that the rule cannot use.
std::unique_ptr<UpdateRule> make_update_rule(const OptimizerOptions& options);

}  // namespace gyre
