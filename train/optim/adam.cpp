#include "gyre/train/optim/adam.h"

#include <cmath>
#include <limits>

#include "gyre/core/option_checks.h"

namespace gyre {

Adam::Adam(const OptimizerOptions& options) : beta1_(options.beta1), beta2_(options.beta2), epsilon_(options.epsilon) {
  expect_fraction("--optimizer-params beta1", beta1_);
  expect_fraction("--optimizer-params beta2", beta2_);
  expect(std::isfinite(epsilon_) && epsilon_ > 0, "--optimizer-params epsilon", "a positive number", epsilon_);
}

std::vector<Slot> Adam::slots() const { return {{"m", Slot::Covers::elements}, {"v", Slot::Covers::elements}}; }

// With a larger gradient, a second moment may become infinite, and its weight would never change again.
double Adam::largest_norm(DType dtype) const {
  return std::sqrt(dtype == DType::f32 ? double(std::numeric_limits<float>::max())
                                       : std::numeric_limits<double>::max());
}

void Adam::update(Kernels& kernels, const RuleTensors& tensors, const UpdatePlan& plan, const Tensor& verdict,
                  const RuleStep& step) const {
  const auto t = double(step.number);
  kernels.adam(tensors.weights, tensors.state[0], tensors.state[1], tensors.gradients, plan.elements, verdict,
               {.learning_rate = step.learning_rate,
                .beta1 = beta1_,
                .beta2 = beta2_,
                .epsilon = epsilon_,
                .bias1 = 1 - std::pow(beta1_, t),
                .bias2 = 1 - std::pow(beta2_, t)});
}

std::unique_ptr<UpdateRule> make_adam(const OptimizerOptions& options) {
  expect(options.weight_decay == 0, "--weight-decay", "0 with --optimizer adam (adamw decays weights)",
         options.weight_decay);
  expect(options.decays.empty(), "--decay-for", "no pattern with --optimizer adam (adamw decays weights)",
         options.decays.empty() ? "" : options.decays.front().pattern);
  return std::make_unique<Adam>(options);
}

std::unique_ptr<UpdateRule> make_adamw(const OptimizerOptions& options) { return std::make_unique<Adam>(options); }

}  // namespace gyre
