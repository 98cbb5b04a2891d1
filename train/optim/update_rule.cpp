#include "gyre/train/optim/update_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gyre/core/option_checks.h"
#include "gyre/core/parallel_for.h"

namespace gyre {

namespace {

constexpr int kIterations = 5;
constexpr NewtonSchulzCoefficients kCoefficients{3.4445, -4.7750, 2.0315};

// The tensor in the type of the operands of products: itself, or a copy rounded to bf16.
Tensor operand(Kernels& kernels, const Tensor& t, DType type) {
  if (t.dtype() == type) return t;
  Tensor rounded = Tensor::empty(t.shape(), type, t.device());
  kernels.convert(rounded, t);
  return rounded;
}

// Whether the iteration on the Gram matrix takes fewer operations, even on GPUs, which compute symmetric products
// whole.
bool is_oblong(int64_t rows, int64_t columns) { return 2 * std::max(rows, columns) >= 3 * std::min(rows, columns); }

// X X^T, or X^T X if X has more rows than columns, in the type of sums over X.
Tensor gram_matrix(Kernels& kernels, const Tensor& x, DType type) {
  const int64_t n = std::min(x.rows(), x.cols());
  Tensor gram = Tensor::empty({n, n}, type, x.device());
  if (x.rows() <= x.cols()) {
    kernels.symmetric_product(gram, x, x);
  } else {
    gram.zero();
    kernels.linear_backward({}, gram, {}, x, x, /*w=*/gram, {});  // only w's shape counts
  }
  return gram;
}

// x y, for symmetric matrices that commute.
Tensor product(Kernels& kernels, const Tensor& x, const Tensor& y) {
  Tensor xy = x.like();
  kernels.symmetric_product(xy, x, y);
  return xy;
}

// a I + b R + c R^2 of the Gram matrix R. `type`: of the operands of the square.
Tensor polynomial(Kernels& kernels, const Tensor& gram, DType type) {
  const Tensor factor = operand(kernels, gram, type);
  Tensor result = gram.like();
  kernels.symmetric_product(result, factor, factor);
  kernels.newton_schulz_polynomial(result, gram, result, kCoefficients);
  return result;
}

// y = p X, or X p if X has more rows than columns; p is symmetric.
void multiply(Kernels& kernels, const Tensor& y, const Tensor& p, const Tensor& x) {
  if (x.rows() > x.cols()) return kernels.linear(y, x, p, {});
  kernels.linear_backward(y, {}, {}, p, x, x, {});
}

// Iterates on the matrix, and overwrites x if `type` is its type. Rounding errors of X grow by at most about a in each
// iteration, and those of a Gram matrix by a^2, so that only this iteration is used below fp32.
Tensor iterate_on_matrix(Kernels& kernels, const Tensor& x, DType type) {
  Tensor now = operand(kernels, x, type), next = now.like();
  for (int i = 0; i < kIterations; ++i) {
    const Tensor factor = polynomial(kernels, gram_matrix(kernels, now, x.dtype()), type);
    if (i + 1 == kIterations && type != x.dtype()) next = x.like();  // the result is not rounded
    multiply(kernels, next, operand(kernels, factor, type), now);
    std::swap(now, next);
  }
  return now;
}

// Iterates on the Gram matrix: P_k = a I + b R_k + c R_k^2, R_k+1 = P_k R_k P_k, and the result is P_5 .. P_1 X. All of
// these are polynomials of R_1, so that they are symmetric and commute. Only two products have the size of X.
Tensor iterate_on_gram_matrix(Kernels& kernels, const Tensor& x) {
  Tensor gram = gram_matrix(kernels, x, x.dtype()), all;
  for (int i = 0; i < kIterations; ++i) {
    const Tensor factor = polynomial(kernels, gram, x.dtype());
    all = all ? product(kernels, all, factor) : factor;
    if (i + 1 < kIterations) gram = product(kernels, product(kernels, factor, gram), factor);
  }
  Tensor result = x.like();
  multiply(kernels, result, all, x);
  return result;
}

}  // namespace

void normalize(Kernels& kernels, const Tensor& y, const Tensor& x) {
  const Tensor squares = Tensor::empty({squares_blocks(x.size())}, DType::f64, x.device());
  kernels.block_square_sums(squares, x.reshape({x.size()}));
  kernels.divide_by_norm(y, x, squares);
}

double orthogonalization_flops(const Parameter& p, Precision precision, Device device) {
  const double symmetric = device.kind == Device::Kind::cpu ? 1 : 2;  // FLOPs per element of x and product column
  double flops = 0;
  for (const int64_t rows : p.matrix_rows) {
    const auto [n, m] = std::minmax({double(rows), double(p.shape[1])});
    const double gram = (rows <= p.shape[1] ? symmetric : 2) * n * n * m, square = symmetric * n * n * n;
    const bool on_gram = precision == Precision::fp32 && is_oblong(rows, p.shape[1]);
    flops += on_gram ? gram + 17 * square + 2 * n * n * m : kIterations * (gram + square + 2 * n * n * m);
  }
  return flops;
}

Tensor orthogonalize(Kernels& device_kernels, const Tensor& x, Precision precision) {
  Kernels& kernels = device_kernels.with_tf32(precision == Precision::tf32);
  const Tensor normalized = x.like();
  normalize(kernels, normalized, x);
  const bool exact = precision == Precision::fp32 || x.dtype() == DType::f64;
  if (exact && is_oblong(x.rows(), x.cols())) return iterate_on_gram_matrix(kernels, normalized);
  return iterate_on_matrix(kernels, normalized, exact || precision == Precision::tf32 ? x.dtype() : DType::bf16);
}

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
constexpr double kRms = 0.2;  // root mean square of AdamW's updates
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
