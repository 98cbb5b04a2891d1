#include "gyre/train/optim/update_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gyre/core/option_checks.h"
#include "gyre/core/parallel_for.h"
#include "gyre/train/optim/newton_schulz.h"

namespace gyre {
namespace {

// Adam and AdamW (Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019, decoupled weight decay), alone and for the
// parameters that a rule for matrices leaves.
class Adam final : public UpdateRule {
 public:
  explicit Adam(const OptimizerOptions& options)
      : beta1_(options.beta1), beta2_(options.beta2), epsilon_(options.epsilon) {
    expect_fraction("--optimizer-params beta1", beta1_);
    expect_fraction("--optimizer-params beta2", beta2_);
    expect(std::isfinite(epsilon_) && epsilon_ > 0, "--optimizer-params epsilon", "a positive number", epsilon_);
  }

  std::vector<Slot> slots() const override { return {{"m", Slot::Covers::elements}, {"v", Slot::Covers::elements}}; }

  // With a larger gradient, a second moment may become infinite, and its weight would never change again.
  double largest_norm(DType dtype) const override {
    return std::sqrt(dtype == DType::f32 ? double(std::numeric_limits<float>::max())
                                         : std::numeric_limits<double>::max());
  }

  void update(Kernels& kernels, const RuleTensors& tensors, const UpdatePlan& plan, const Tensor& verdict,
              const RuleStep& step) const override {
    const auto t = double(step.number);
    kernels.adam(tensors.weights, tensors.state[0], tensors.state[1], tensors.gradients, plan.elements, verdict,
                 {.learning_rate = step.learning_rate,
                  .beta1 = beta1_,
                  .beta2 = beta2_,
                  .epsilon = epsilon_,
                  .bias1 = 1 - std::pow(beta1_, t),
                  .bias2 = 1 - std::pow(beta2_, t)});
  }

 private:
  double beta1_, beta2_, epsilon_;
};

std::unique_ptr<UpdateRule> make_adam(const OptimizerOptions& options) {
  expect(options.weight_decay == 0, "--weight-decay", "0 with --optimizer adam (adamw decays weights)",
         options.weight_decay);
  expect(options.decays.empty(), "--decay-for", "no pattern with --optimizer adam (adamw decays weights)",
         options.decays.empty() ? "" : options.decays.front().pattern);
  return std::make_unique<Adam>(options);
}

std::unique_ptr<UpdateRule> make_adamw(const OptimizerOptions& options) { return std::make_unique<Adam>(options); }

// Lion. Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2. The usual learning rate is a
// third to a tenth of AdamW's, with a weight decay that is larger by the same factor.
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

std::unique_ptr<UpdateRule> make_lion(const OptimizerOptions& options) { return std::make_unique<Lion>(options); }

// Muon (Jordan et al. 2024) for the weights of linear layers inside the model, AdamW for all other parameters. For each
// matrix W(n, m) with gradient G, momentum mu and decoupled weight decay:
//   M = mu M + (1 - mu) G;  O = orthogonalize(mu M + (1 - mu) G)
//   W = (1 - lr decay) W - lr 0.2 sqrt(max(n, m)) O
// The factor gives updates the root mean square of AdamW's, so that its learning rate and decay carry over (Liu et al.
// 2025, Moonlight, arXiv 2502.16982, 2.2). NorMuon (Li et al. 2025, arXiv 2510.05491, algorithm 1) divides each row of
// O by the root of a moving average of its mean square, v, and restores the norm:
//   v_i = beta2 v_i + (1 - beta2) mean(O_i^2);  O_i = O_i / (sqrt(v_i) + eps);  W = .. - lr 0.2 sqrt(n m) O / |O|
constexpr double kRms = 0.2;  // of AdamW's updates
constexpr double kRowBeta2 = 0.95;
// Largest number of elements of a matrix whose products gain little from several threads. On CPUs, each thread updates
// such matrices by itself if there are enough of them.
constexpr int64_t kSmallMatrix = int64_t{1} << 18;

class Muon final : public UpdateRule {
 public:
  Muon(const OptimizerOptions& options, bool normalizes_rows)
      : adam_(options), momentum_(options.momentum), precision_(options.precision), normalizes_rows_(normalizes_rows) {
    expect_fraction("--momentum", momentum_);
  }

  std::vector<Slot> slots() const override {
    std::vector<Slot> slots = adam_.slots();
    slots.push_back({"momentum", Slot::Covers::matrices});
    if (normalizes_rows_) slots.push_back({"row_moments", Slot::Covers::rows});
    return slots;
  }
  bool updates_matrices() const override { return true; }
  double largest_norm(DType dtype) const override { return adam_.largest_norm(dtype); }

  void update(Kernels& kernels, const RuleTensors& tensors, const UpdatePlan& plan, const Tensor& verdict,
              const RuleStep& step) const override {
    adam_.update(kernels, tensors, plan, verdict, step);
    const auto update_one = [&](const UpdateMatrix& matrix) { update_matrix(kernels, tensors, matrix, verdict, step); };
    std::vector<const UpdateMatrix*> small;
    for (const UpdateMatrix& matrix : plan.matrices) {
      if (kernels.device() == Device{} && matrix.elements() <= kSmallMatrix) {
        small.push_back(&matrix);
      } else {
        update_one(matrix);
      }
    }
    if (small.size() >= size_t(threads())) {
      parallel_for(small.size(), 1, [&](size_t i) { update_one(*small[i]); });
    } else {
      for (const UpdateMatrix* matrix : small) update_one(*matrix);
    }
  }

 private:
  void update_matrix(Kernels& kernels, const RuleTensors& tensors, const UpdateMatrix& matrix, const Tensor& verdict,
                     const RuleStep& step) const {
    const Tensor weight = matrix.in(tensors.weights, matrix.begin);
    const Tensor momentum = matrix.in(tensors.state[2], matrix.state), direction = weight.like();
    kernels.nesterov_momentum(direction, momentum, matrix.in(tensors.gradients, matrix.gradient), verdict, momentum_);
    const Tensor orthogonal = orthogonalize(kernels, direction, precision_);
    double scale = kRms * std::sqrt(double(std::max(matrix.rows, matrix.cols)));
    if (normalizes_rows_) {
      const Tensor moments = tensors.state[3].slice(matrix.row_state, matrix.row_state + matrix.rows);
      kernels.normalize_rows(orthogonal, moments, verdict, kRowBeta2);
      normalize(kernels, orthogonal, orthogonal);
      scale = kRms * std::sqrt(double(matrix.elements()));
    }
    const double rate = step.learning_rate * matrix.group.rate_factor;
    kernels.decay_and_subtract(weight, orthogonal, verdict, 1 - rate * matrix.group.weight_decay, rate * scale);
  }

  Adam adam_;
  double momentum_;
  Precision precision_;
  bool normalizes_rows_;
};

std::unique_ptr<UpdateRule> make_muon(const OptimizerOptions& options) {
  return std::make_unique<Muon>(options, /*normalizes_rows=*/false);
}
std::unique_ptr<UpdateRule> make_normuon(const OptimizerOptions& options) {
  return std::make_unique<Muon>(options, /*normalizes_rows=*/true);
}

using RuleMaker = std::unique_ptr<UpdateRule>(const OptimizerOptions&);

constexpr struct {
  const char* name;
  RuleMaker* make;
} kRules[] = {
    {"adam", make_adam}, {"adamw", make_adamw}, {"lion", make_lion}, {"muon", make_muon}, {"normuon", make_normuon}};

}  // namespace

std::vector<std::string> update_rule_names() {
  std::vector<std::string> names;
  for (const auto& rule : kRules) names.emplace_back(rule.name);
  return names;
}

std::unique_ptr<UpdateRule> make_update_rule(const OptimizerOptions& options) {
  expect_one_of(update_rule_names(), "--optimizer", options.kind);
  for (const auto& rule : kRules)
    if (options.kind == rule.name) return rule.make(options);
  return nullptr;
}

}  // namespace gyre
