#include "train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "train/schedule.h"

namespace gyre {

namespace {

// The factor of torch.nn.utils.clip_grad_norm_, in which 1e-6 keeps a zero norm harmless.
double clip_factor(double norm, double limit) { return limit > 0 ? std::min(1.0, limit / (norm + 1e-6)) : 1.0; }

// Of a gradient that is larger, the second moment may become infinite, and its weight would never move again.
bool has_finite_square(double norm, DType dtype) {
  return norm <= std::sqrt(dtype == DType::f32 ? double(std::numeric_limits<float>::max())
                                               : std::numeric_limits<double>::max());
}

// TensorFlow's and Marian's start: an average over the first few updates is not held back by the random weights.
double average_decay(double decay, uint64_t finished) {
  const auto n = static_cast<double>(finished);
  return std::min(decay, (1 + n) / (10 + n));
}

StateTensor state_tensor(std::string name, const StateArena& arena, const Parameter& p) {
  return {std::move(name), p.shape, [&arena, &p] { return arena.read(p); },
          [&arena, &p](const Tensor& values) { arena.write(p, values); }};
}

}  // namespace

Optimizer::Optimizer(Parameters& parameters, Kernels& kernels, const OptimizerOptions& options,
                     const Ownership* ownership)
    : parameters_(parameters),
      kernels_(kernels),
      options_(options),
      whole_(parameters.values().size()),
      ownership_(ownership != nullptr ? *ownership : whole_),
      rules_(trainable_rules()),
      m_(ownership_, parameters.values()),
      v_(ownership_, parameters.values()) {
  if (options.ema > 0) {
    average_ = StateArena(ownership_, parameters.values());
    reset_average();
  }
}

UpdateInfo Optimizer::update(double normaliser) {
  require(std::isfinite(normaliser) && normaliser > 0, "[optimizer] expected a positive normaliser, got ", normaliser);
  const Tensor values = parameters_.values(), gradients = parameters_.gradients();
  UpdateInfo info;
  info.learning_rate = learning_rate(options_, step_);
  info.gradient_norm = gradient_norm() / normaliser;
  const double clip = clip_factor(info.gradient_norm, options_.clip_norm);
  info.finite = std::isfinite(info.gradient_norm) && has_finite_square(clip * info.gradient_norm, values.dtype());
  if (!info.finite) {
    gradients.zero();
    copy_frozen_to_average();
    return info;
  }

  const auto t = static_cast<double>(moments_step_ + 1);
  AdamStep adam{.learning_rate = info.learning_rate,
                .beta1 = options_.beta1,
                .beta2 = options_.beta2,
                .epsilon = options_.epsilon,
                .bias1 = 1 - std::pow(options_.beta1, t),
                .bias2 = 1 - std::pow(options_.beta2, t),
                .gradient_scale = clip / normaliser};
  for (const Rule& rule : rules_) {
    adam.weight_decay = rule.decay ? options_.weight_decay : 0;
    const auto means = m_.matches(rule.range, values), squares = v_.matches(rule.range, gradients);
    for (size_t i = 0; i < means.size(); ++i)
      kernels_.adam(means[i].whole, means[i].own, squares[i].own, squares[i].whole, adam);
  }
  if (has_average()) {
    for (const auto& [own, whole] : average_.matches({0, values.size()}, values))
      kernels_.moving_average(own, whole, average_decay(options_.ema, step_));
  }
  for (const Parameter& p : parameters_) {
    if (!p.trainable) p.gradient.zero();
  }
  copy_frozen_to_average();
  if (ownership_.is_shared()) {
    gradients.zero();
    ownership_.share(values, {0, values.size()});
  }
  ++step_;
  ++moments_step_;
  return info;
}

UpdateInfo Optimizer::skip() {
  copy_frozen_to_average();
  return {.gradient_norm = 0, .learning_rate = learning_rate(options_, step_)};
}

// Random vectors that were drawn anew have no average.
void Optimizer::copy_frozen_to_average() const {
  if (!has_average()) return;
  for (const Parameter& p : parameters_) {
    if (!p.trainable) average_.write(p, p.value);
  }
}

// Blocks are added in order: the same bits whoever owns them.
double Optimizer::gradient_norm() const {
  const Tensor gradients = parameters_.gradients();
  std::vector<double> squares(size_t(squares_blocks(gradients.size())));
  for (const ElementRange& range : ownership_.owned()) {
    const std::vector<double> own = kernels_.block_squares(gradients.slice(range.begin, range.end));
    std::copy(own.begin(), own.end(), squares.begin() + range.begin / kSquaresBlock);
  }
  if (ownership_.is_shared()) ownership_.sum(squares);
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
}

std::vector<StateTensor> Optimizer::moments() const {
  std::vector<StateTensor> tensors;
  for (const auto& [prefix, arena] : {std::pair{"m.", &m_}, std::pair{"v.", &v_}}) {
    for (const Parameter& p : parameters_) tensors.push_back(state_tensor(prefix + p.name, *arena, p));
  }
  return tensors;
}

StateTensor Optimizer::average(const Parameter& parameter) const {
  return state_tensor(parameter.name, average_, parameter);
}

void Optimizer::reset_average() {
  if (has_average()) average_.copy_from(parameters_.values());
}

std::vector<Optimizer::Rule> Optimizer::trainable_rules() const {
  std::vector<Rule> rules;
  for (const Parameter& p : parameters_) {
    if (!p.trainable) continue;
    const int64_t end = p.offset + p.shape.elements();
    // Neighbours of one rule make one call; the gap between them is zero in all arenas and stays zero.
    const bool neighbour = !rules.empty() && p.index > 0 && parameters_[static_cast<size_t>(p.index) - 1].trainable;
    if (neighbour && rules.back().decay == p.decay) {
      rules.back().range.end = end;
    } else {
      rules.push_back({{p.offset, end}, p.decay});
    }
  }
  return rules;
}

AverageScope::AverageScope(const Optimizer& optimizer) : optimizer_(optimizer) {
  if (!optimizer.has_average()) return;
  const Tensor values = optimizer.parameters_.values();
  weights_ = StateArena(optimizer.ownership_, values);
  weights_.copy_from(values);
  optimizer.average_.copy_to(values);
}

AverageScope::~AverageScope() {
  if (weights_.defined()) weights_.copy_to(optimizer_.parameters_.values());
}

}  // namespace gyre
