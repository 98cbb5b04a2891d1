// Adam and AdamW. Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019 (decoupled weight decay).
#include <cmath>
#include <limits>

#include "gyre/core/option_checks.h"
#include "gyre/train/optim/update_rule.h"

namespace gyre {
namespace {

class Adam final : public UpdateRule {
 public:
  explicit Adam(const OptimizerOptions& options)
      : beta1_(options.beta1), beta2_(options.beta2), epsilon_(options.epsilon) {
    expect_fraction("--optimizer-params beta1", beta1_);
    expect_fraction("--optimizer-params beta2", beta2_);
    expect(std::isfinite(epsilon_) && epsilon_ > 0, "--optimizer-params epsilon", "a positive number", epsilon_);
  }

  std::vector<std::string> slots() const override { return {"m", "v"}; }

  // With a larger gradient, a second moment may become infinite, and its weight would never change again.
  double largest_norm(DType dtype) const override {
    return std::sqrt(dtype == DType::f32 ? double(std::numeric_limits<float>::max())
                                         : std::numeric_limits<double>::max());
  }

  void update(Kernels& kernels, const RuleTensors& tensors, const UpdateRanges& ranges, const Tensor& verdict,
              const RuleStep& step) const override {
    const auto t = double(step.number);
    kernels.adam(tensors.weights, tensors.state[0], tensors.state[1], tensors.gradients, ranges, verdict,
                 {.learning_rate = step.learning_rate,
                  .beta1 = beta1_,
                  .beta2 = beta2_,
                  .epsilon = epsilon_,
                  .weight_decay = step.weight_decay,
                  .bias1 = 1 - std::pow(beta1_, t),
                  .bias2 = 1 - std::pow(beta2_, t)});
  }

 private:
  double beta1_, beta2_, epsilon_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_adam(const OptimizerOptions& options) {
  expect(options.weight_decay == 0, "--weight-decay", "0 with --optimizer adam (adamw decays weights)",
         options.weight_decay);
  return std::make_unique<Adam>(options);
}

std::unique_ptr<UpdateRule> make_adamw(const OptimizerOptions& options) { return std::make_unique<Adam>(options); }

}  // namespace gyre
