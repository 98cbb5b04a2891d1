// The update rule of an optimizer, such as Adam. A new rule is one file that makes an UpdateRule, and one line in
// train/optim/update_rules.inc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/train/optim/optimizer_options.h"

namespace gyre {

struct RuleStep {
  double learning_rate = 0;
  double weight_decay = 0;    // 0 for parameters that are not decayed
  double gradient_scale = 1;  // multiplies the gradient: divides it by the number of predictions, and clips it
  uint64_t number = 1;        // of this update since the state was zero, from 1
};

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  // The tensors that the rule keeps for each parameter, zero at first, in the parameter's shape and type. Checkpoints
  // name them "<slot>.<parameter>".
  virtual std::vector<std::string> slots() const = 0;
  // True if a gradient with this norm after clipping can be applied without making weights or state infinite.
  virtual bool accepts(double norm, DType dtype) const = 0;
  // Updates weights in place and sets the gradients to zero. All tensors are equal ranges of the parameters' arenas;
  // `state` has one tensor per slot.
  virtual void update(Kernels& kernels, const Tensor& weights, const Tensor& gradients, std::span<const Tensor> state,
                      const RuleStep& step) const = 0;
};

// The choices of --optimizer.
std::vector<std::string> update_rule_names();
// Throws UsageError for an unknown rule, and for options that the rule cannot use.
std::unique_ptr<UpdateRule> make_update_rule(const OptimizerOptions& options);

}  // namespace gyre
