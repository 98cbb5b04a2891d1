#include "gyre/train/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/train/optim/schedule.h"

namespace gyre {

namespace {

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
      ranges_(owned_ranges()),
      squares_(Tensor::zeros({squares_blocks(parameters.values().size())}, DType::f64, kernels.device())),
      verdict_(Tensor::zeros({kVerdictSize}, DType::f64, kernels.device())) {
  for (size_t i = 0; i < rule_->slots().size(); ++i) slots_.emplace_back(partition_, parameters.values());
  if (options.ema > 0) {
    average_ = StateArena(partition_, parameters.values());
    reset_average();
  }
}

void Optimizer::start_update(double normalizer) {
  require(std::isfinite(normalizer) && normalizer > 0, "[optimizer] expected a positive normalizer, got ", normalizer);
  require(!verdict_copy_.started(), "[optimizer] expected finish_update() before the next update");
  const Tensor values = parameters_.values(), gradients = parameters_.gradients();
  sum_squares();
  kernels_.judge_gradient(
      verdict_, squares_,
      {.normalizer = normalizer, .clip_norm = options_.clip_norm, .largest = rule_->largest_norm(values.dtype())});
  verdict_copy_ = HostCopy(verdict_);
  started_rate_ = learning_rate(options_, step_);
  RuleTensors tensors{.weights = values, .gradients = gradients, .state = {}};
  for (const StateArena& slot : slots_) tensors.state.push_back(slot.owned_values());
  rule_->update(kernels_, tensors, ranges_, verdict_,
                {.learning_rate = started_rate_, .weight_decay = options_.weight_decay, .number = moments_step_ + 1});
  if (has_average()) {
    for (const auto& [own, whole] : average_.matches({0, values.size()}, values))
      kernels_.moving_average(own, whole, verdict_, average_decay(options_.ema, step_));
  }
  for (const Parameter& p : parameters_) {
    if (!p.trainable) p.gradient.zero();
  }
  copy_frozen_to_average();
  if (partition_.is_sharded()) {
    gradients.zero();
    partition_.all_gather(values, {0, values.size()});
  }
}

UpdateInfo Optimizer::finish_update() {
  require(verdict_copy_.started(), "[optimizer] expected start_update() before finish_update()");
  const Tensor verdict = std::exchange(verdict_copy_, {}).wait();
  const auto* found = verdict.data<double>();
  const UpdateInfo info{
      .gradient_norm = found[kGradientNorm], .learning_rate = started_rate_, .accepted = found[kAccepted] != 0};
  if (info.accepted) ++step_, ++moments_step_;
  return info;
}

UpdateInfo Optimizer::skip() {
  copy_frozen_to_average();
  return {.gradient_norm = 0, .learning_rate = learning_rate(options_, step_)};
}

// Frozen parameters are not averaged: redrawn random vectors have no meaningful average.
void Optimizer::copy_frozen_to_average() const {
  if (!has_average()) return;
  for (const Parameter& p : parameters_) {
    if (!p.trainable) average_.write(p, p.value);
  }
}

// The blocks are the same for any ownership, and are added in the same order.
void Optimizer::sum_squares() const {
  const Tensor gradients = parameters_.gradients();
  if (partition_.is_sharded()) squares_.zero();
  for (const ElementRange& range : partition_.owned()) {
    const int64_t first = range.begin / kSquaresBlock;
    kernels_.block_square_sums(squares_.slice(first, first + squares_blocks(range.size())),
                               gradients.slice(range.begin, range.end));
  }
  if (partition_.is_sharded()) partition_.sum(squares_);
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

UpdateRanges Optimizer::owned_ranges() const {
  std::vector<int32_t> table;
  const auto units = [](int64_t elements) { return (elements + kUpdateUnit - 1) / kUpdateUnit; };
  // The table holds positions of 32 bits.
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() * kUpdateUnit;
  require(parameters_.values().size() <= kMost, "[optimizer] expected a model of at most ", kMost, " parameters, got ",
          parameters_.values().size());
  const std::vector<ElementRange> owned = partition_.owned();
  UpdateRanges ranges;
  for (const Span& span : trainable_spans()) {
    int64_t state = 0;
    for (const ElementRange& own : owned) {
      const int64_t begin = std::max(own.begin, span.range.begin), end = std::min(own.end, span.range.end);
      if (begin < end) {
        table.insert(table.end(), {int32_t(ranges.units), int32_t(units(begin)),
                                   int32_t(units(state + begin - own.begin)), int32_t(span.decay)});
        ranges.units += units(end - begin);
      }
      state += own.size();
    }
  }
  ranges.table = Tensor::from({int64_t(table.size()) / UpdateRanges::kColumns, UpdateRanges::kColumns}, table);
  return ranges;
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
