// Adam and AdamW, alone and for the parameters that a rule for matrices leaves.
#pragma once

#include "gyre/train/optim/update_rule.h"

namespace gyre {

// Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019 (decoupled weight decay).
class Adam final : public UpdateRule {
 public:
  explicit Adam(const OptimizerOptions& options);
  std::vector<Slot> slots() const override;  // m and v
  double largest_norm(DType dtype) const override;
  void update(Kernels& kernels, const RuleTensors& tensors, const UpdatePlan& plan, const Tensor& verdict,
              const RuleStep& step) const override;

 private:
  double beta1_, beta2_, epsilon_;
};

}  // namespace gyre
