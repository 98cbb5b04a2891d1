#include "gyre/train/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/train/optim/schedule.h"

namespace gyre {

namespace {

// The factor of torch.nn.utils.clip_grad_norm_. 1e-6 avoids a division by zero.
double clip_factor(double norm, double limit) { return limit > 0 ? std::min(1.0, limit / (norm + 1e-6)) : 1.0; }

// The decay of TensorFlow and Marian: a small decay at the start reduces the influence of the random initial weights.
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
                     const OptimizerPartition* partition)
    : parameters_(parameters),
      kernels_(kernels),
      options_(options),
      whole_(parameters.values().size()),
      partition_(partition != nullptr ? *partition : whole_),
      rule_(make_update_rule(options)),
      spans_(trainable_spans()) {
  for (size_t i = 0; i < rule_->slots().size(); ++i) slots_.emplace_back(partition_, parameters.values());
  if (options.ema > 0) {
    average_ = StateArena(partition_, parameters.values());
    reset_average();
  }
}

UpdateInfo Optimizer::update(double normalizer) {
  require(std::isfinite(normalizer) && normalizer > 0, "[optimizer] expected a positive normalizer, got ", normalizer);
  const Tensor values = parameters_.values(), gradients = parameters_.gradients();
  UpdateInfo info;
  info.learning_rate = learning_rate(options_.schedule, step_);
  info.gradient_norm = gradient_norm() / normalizer;
  const double clip = clip_factor(info.gradient_norm, options_.clip_norm);
  info.accepted = std::isfinite(info.gradient_norm) && rule_->accepts(clip * info.gradient_norm, values.dtype());
  if (!info.accepted) {
    gradients.zero();
    copy_frozen_to_average();
    return info;
  }

  RuleStep step{.learning_rate = info.learning_rate, .gradient_scale = clip / normalizer, .number = moments_step_ + 1};
  for (const Span& span : spans_) {
    step.weight_decay = span.decay ? options_.weight_decay : 0;
    update_span(span, step);
  }
  if (has_average()) {
    for (const auto& [own, whole] : average_.matches({0, values.size()}, values))
      kernels_.moving_average(own, whole, average_decay(options_.ema, step_));
  }
  for (const Parameter& p : parameters_) {
    if (!p.trainable) p.gradient.zero();
  }
  copy_frozen_to_average();
  if (partition_.is_sharded()) {
    gradients.zero();
    partition_.all_gather(values, {0, values.size()});
  }
  ++step_;
  ++moments_step_;
  return info;
}

// Updates the elements of the span that this rank owns.
void Optimizer::update_span(const Span& span, const RuleStep& step) const {
  const Tensor values = parameters_.values(), gradients = parameters_.gradients();
  std::vector<Tensor> state(slots_.size());
  for (const ElementRange& range : owned_within(partition_, span.range)) {
    std::transform(slots_.begin(), slots_.end(), state.begin(), [&](const StateArena& s) { return s.slice(range); });
    rule_->update(kernels_, values.slice(range.begin, range.end), gradients.slice(range.begin, range.end), state, step);
  }
}

UpdateInfo Optimizer::skip() {
  copy_frozen_to_average();
  return {.gradient_norm = 0, .learning_rate = learning_rate(options_.schedule, step_)};
}

// Frozen parameters are not averaged: redrawn random vectors have no meaningful average.
void Optimizer::copy_frozen_to_average() const {
  if (!has_average()) return;
  for (const Parameter& p : parameters_) {
    if (!p.trainable) average_.write(p, p.value);
  }
}

// Adds the blocks in order: the bits are the same for any ownership.
double Optimizer::gradient_norm() const {
  const Tensor gradients = parameters_.gradients();
  std::vector<double> squares(size_t(squares_blocks(gradients.size())));
  for (const ElementRange& range : partition_.owned()) {
    const std::vector<double> own = kernels_.block_square_sums(gradients.slice(range.begin, range.end));
    std::copy(own.begin(), own.end(), squares.begin() + range.begin / kSquaresBlock);
  }
  if (partition_.is_sharded()) partition_.sum(squares);
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
}

std::vector<StateTensor> Optimizer::state() const {
  std::vector<StateTensor> tensors;
  const std::vector<std::string> names = rule_->slots();
  for (size_t i = 0; i < names.size(); ++i) {
    for (const Parameter& p : parameters_) tensors.push_back(state_tensor(concat(names[i], ".", p.name), slots_[i], p));
  }
  return tensors;
}

StateTensor Optimizer::average(const Parameter& parameter) const {
  return state_tensor(parameter.name, average_, parameter);
}

void Optimizer::reset_average() {
  if (has_average()) average_.copy_from(parameters_.values());
}

std::vector<Optimizer::Span> Optimizer::trainable_spans() const {
  std::vector<Span> spans;
  for (const Parameter& p : parameters_) {
    if (!p.trainable) continue;
    const int64_t end = p.offset + p.shape.elements();
    // Neighbors with the same decay form one range. The gap between them is zero in all arenas and stays zero.
    const bool neighbor = !spans.empty() && p.index > 0 && parameters_[static_cast<size_t>(p.index) - 1].trainable;
    if (neighbor && spans.back().decay == p.decay) {
      spans.back().range.end = end;
    } else {
      spans.push_back({{p.offset, end}, p.decay});
    }
  }
  return spans;
}

AverageScope::AverageScope(const Optimizer& optimizer) : optimizer_(optimizer) {
  if (!optimizer.has_average()) return;
  const Tensor values = optimizer.parameters_.values();
  weights_ = StateArena(optimizer.partition_, values);
  weights_.copy_from(values);
  optimizer.average_.copy_to(values);
}

AverageScope::~AverageScope() {
  if (weights_.defined()) weights_.copy_to(optimizer_.parameters_.values());
}

}  // namespace gyre
