// Lion. Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2. The usual learning rate is a
// third to a tenth of AdamW's, with a weight decay that is larger by the same factor.
#include <limits>

#include "gyre/core/option_checks.h"
#include "gyre/train/optim/update_rule.h"

namespace gyre {
namespace {

class Lion final : public UpdateRule {
 public:
  explicit Lion(const OptimizerOptions& options) : beta1_(options.beta1), beta2_(options.beta2) {
    expect_fraction("--optimizer-params beta1", beta1_);
    expect_fraction("--optimizer-params beta2", beta2_);
  }

  std::vector<Slot> slots() const override { return {{"m", Slot::Covers::elements}}; }

  double largest_norm(DType dtype) const override {
    return dtype == DType::f32 ? double(std::numeric_limits<float>::max()) : std::numeric_limits<double>::max();
  }

  void update(Kernels& kernels, const RuleTensors& tensors, const UpdatePlan& plan, const Tensor& verdict,
              const RuleStep& step) const override {
    kernels.lion(tensors.weights, tensors.state[0], tensors.gradients, plan.elements, verdict,
                 {.learning_rate = step.learning_rate, .beta1 = beta1_, .beta2 = beta2_});
  }

 private:
  double beta1_, beta2_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_lion(const OptimizerOptions& options) { return std::make_unique<Lion>(options); }

}  // namespace gyre
