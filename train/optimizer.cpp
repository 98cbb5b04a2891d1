#include "train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "train/schedule.h"

namespace gyre {

namespace {

// The factor of torch.nn.utils.clip_grad_norm_, in which 1e-6 keeps a zero norm harmless.
double clip_factor(double norm, double limit) { return limit > 0 ? std::min(1.0, limit / (norm + 1e-6)) : 1.0; }

// TensorFlow's and Marian's start: an average over the first few updates is not held back by the random weights.
double average_decay(double decay, uint64_t finished) {
  const auto n = static_cast<double>(finished);
  return std::min(decay, (1 + n) / (10 + n));
}

}  // namespace

Optimizer::Optimizer(Parameters& parameters, Kernels& kernels, const OptimizerOptions& options)
    : parameters_(parameters), kernels_(kernels), options_(options), ranges_(trainable_ranges()) {
  const Tensor values = parameters.values();
  require(values.defined(), "[optimizer] the parameters must be allocated first");
  m_ = Tensor::zeros(values.shape(), values.dtype(), values.device());
  v_ = m_.clone();
  if (options.ema > 0) average_ = values.clone();
}

UpdateInfo Optimizer::update(double normaliser) {
  require(std::isfinite(normaliser) && normaliser > 0, "[optimizer] expected a positive normaliser, got ", normaliser);
  UpdateInfo info;
  info.learning_rate = learning_rate(options_, step_);
  info.gradient_norm = std::sqrt(kernels_.sum_of_squares(parameters_.gradients())) / normaliser;
  info.finite = std::isfinite(info.gradient_norm);
  if (!info.finite) {
    parameters_.gradients().zero();
    return info;
  }

  const auto t = static_cast<double>(step_ + 1);
  AdamStep adam{.learning_rate = info.learning_rate,
                .beta1 = options_.beta1,
                .beta2 = options_.beta2,
                .epsilon = options_.epsilon,
                .bias1 = 1 - std::pow(options_.beta1, t),
                .bias2 = 1 - std::pow(options_.beta2, t),
                .gradient_scale = clip_factor(info.gradient_norm, options_.clip_norm) / normaliser};
  for (const Range& r : ranges_) {
    adam.weight_decay = r.decay ? options_.weight_decay : 0;
    kernels_.adam(parameters_.values().slice(r.begin, r.end), m_.slice(r.begin, r.end), v_.slice(r.begin, r.end),
                  parameters_.gradients().slice(r.begin, r.end), adam);
  }
  if (has_average()) {
    kernels_.moving_average(average_, parameters_.values(), average_decay(options_.ema, step_));
  }
  for (const Parameter& p : parameters_) {
    if (p.trainable) continue;
    p.gradient.zero();
    if (has_average()) view(average_, p).copy_from(p.value);  // random vectors that were drawn anew have no average
  }
  ++step_;
  return info;
}

std::vector<NamedTensor> Optimizer::moments() const {
  std::vector<NamedTensor> tensors;
  for (const Parameter& p : parameters_) tensors.push_back({"m." + p.name, view(m_, p)});
  for (const Parameter& p : parameters_) tensors.push_back({"v." + p.name, view(v_, p)});
  return tensors;
}

void Optimizer::reset_average() {
  if (has_average()) average_.copy_from(parameters_.values());
}

Tensor Optimizer::view(const Tensor& arena, const Parameter& parameter) {
  return arena.slice(parameter.offset, parameter.offset + parameter.shape.elements()).reshape(parameter.shape);
}

std::vector<Optimizer::Range> Optimizer::trainable_ranges() const {
  std::vector<Range> ranges;
  for (const Parameter& p : parameters_) {
    if (!p.trainable) continue;
    const int64_t end = p.offset + p.shape.elements();
    // Neighbours of one rule make one call; the gap between them is zero in all arenas and stays zero.
    const bool neighbour = !ranges.empty() && p.index > 0 && parameters_[static_cast<size_t>(p.index) - 1].trainable;
    if (neighbour && ranges.back().decay == p.decay) {
      ranges.back().end = end;
    } else {
      ranges.push_back({p.offset, end, p.decay});
    }
  }
  return ranges;
}

void AverageScope::swap() {
  if (!optimizer_.has_average()) return;
  const Tensor values = optimizer_.parameters_.values(), before = values.clone();
  values.copy_from(optimizer_.average_);
  optimizer_.average_.copy_from(before);
}

}  // namespace gyre
