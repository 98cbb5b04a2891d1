#include "gyre/train/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/train/optim/schedule.h"

namespace gyre {
GradientSquares::GradientSquares(const std::vector<ElementRange>& spans, const OptimizerPartition& partition,
                                 Device device)
    : partition_(partition) {
  const std::vector<ElementRange> owned = partition.owned();
  const GradientPositions gradients(partition);
  int64_t blocks = 0;
  for (const ElementRange& span : spans) {
    for (const ElementRange& range : intersection({span}, owned)) {
      const int64_t begin = gradients.position(range.begin);
      parts_.push_back({{begin, begin + range.size()}, blocks + (range.begin - span.begin) / kSquaresBlock});
    }
    blocks += squares_blocks(span.size());
  }
  sums_ = Tensor::zeros({blocks}, DType::f64, device);
}

const Tensor& GradientSquares::compute(Kernels& kernels, const Tensor& gradients) const {
  if (partition_.is_sharded()) sums_.zero();
  for (const auto& [range, first] : parts_) {
    kernels.block_square_sums(sums_.slice(first, first + squares_blocks(range.size())),
                              gradients.slice(range.begin, range.end));
  }
  if (partition_.is_sharded()) partition_.sum(sums_);
  return sums_;
}

StateArena::StateArena(const OptimizerPartition& partition, const Tensor& arena,
                       const std::vector<ElementRange>& covered)
    : partition_(&partition),
      owned_(intersection(partition.owned(), covered)),
      values_(Tensor::zeros({owned_.elements()}, arena.dtype(), arena.device())) {}

// The values in `range`, by owned range.
std::vector<StateArena::Piece> StateArena::pieces(ElementRange range) const {
  std::vector<Piece> found;
  for (const ElementRange& both : intersection(owned_.ranges(), {range})) {
    const int64_t place = owned_.position(both.begin);
    found.push_back({both, values_.slice(place, place + both.size())});
  }
  return found;
}

// `arena` may be a window of an arena whose first element is element `first`.
std::vector<StateArena::Match> StateArena::matches(ElementRange range, const Tensor& arena, int64_t first) const {
  std::vector<Match> found;
  for (const Piece& piece : pieces(range))
    found.push_back({piece.values, arena.slice(piece.range.begin - first, piece.range.end - first)});
  return found;
}

void StateArena::copy_from(const Tensor& arena) const {
  for (const Match& m : matches({0, arena.size()}, arena)) m.shard.copy_from(m.full);
}

void StateArena::copy_to(const Tensor& arena) const {
  for (const Match& m : matches({0, arena.size()}, arena)) m.full.copy_from(m.shard);
  if (partition_->is_sharded()) partition_->all_gather(arena, {0, arena.size()});
}

Tensor StateArena::read(const Parameter& parameter) const {
  const ElementRange wanted = element_range(parameter);
  if (!partition_->is_sharded()) return pieces(wanted).front().values.reshape(parameter.shape);
  const ElementRange range = partition_->all_gather_range(wanted);
  const Tensor window = Tensor::empty({range.size()}, values_.dtype(), values_.device());
  for (const Match& m : matches(range, window, range.begin)) m.full.copy_from(m.shard);
  partition_->all_gather(window, range);
  return window.slice(wanted.begin - range.begin, wanted.end - range.begin).reshape(parameter.shape);
}

void StateArena::write(const Parameter& parameter, const Tensor& values) const {
  const ElementRange range = element_range(parameter);
  for (const Match& m : matches(range, values.reshape({range.size()}), range.begin)) m.shard.copy_from(m.full);
}

namespace {

// The decay of TensorFlow and Marian: a small decay at the start reduces the influence of the random initial weights.
double average_decay(double decay, uint64_t finished) {
  const auto n = static_cast<double>(finished);
  return std::min(decay, (1 + n) / (10 + n));
}

std::vector<ElementRange> spans_of(const Parameters& parameters, bool by_matrix) {
  if (!by_matrix) return {{0, parameters.values().size()}};
  std::vector<ElementRange> spans;
  for (const ArenaSpan& span : spans_of_matrices(parameters, 1)) spans.push_back(span.range);
  return spans;
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
      unsharded_(parameters.values().size()),
      partition_(partition != nullptr ? *partition : unsharded_),
      rule_(make_update_rule(options)),
      plan_(plan_update(parameters, parameter_groups(parameters, options), partition_, rule_->updates_matrices(),
                        kernels.device())),
      gradient_squares_(spans_of(parameters, rule_->updates_matrices()), partition_, kernels.device()),
      verdict_(Tensor::zeros({kVerdictSize}, DType::f64, kernels.device())) {
  make_state();
  if (options.ema > 0) {
    average_ = StateArena(partition_, parameters.values());
    reset_average();
  }
}

void Optimizer::make_state() {
  const Tensor values = parameters_.values();
  const bool by_matrix = rule_->updates_matrices();
  for (const Slot& slot : rule_->slots()) {
    StateArena arena;
    Tensor rows;
    if (slot.covers == Slot::Covers::rows) {
      rows = Tensor::zeros({plan_.matrix_rows}, values.dtype(), values.device());
    } else if (by_matrix) {
      arena = StateArena(partition_, values, ranges_of_whole(parameters_, slot.covers == Slot::Covers::matrices));
    } else {
      arena = StateArena(partition_, values);
    }
    arenas_.push_back(std::move(arena));
    row_states_.push_back(std::move(rows));
  }
}

Tensor Optimizer::gradients() const {
  const Tensor packed = partition_.packed_gradients();
  return packed ? packed : parameters_.gradients();
}

void Optimizer::start_update(double normalizer) {
  require(std::isfinite(normalizer) && normalizer > 0, "[optimizer] expected a positive normalizer, got ", normalizer);
  require(!verdict_copy_.started(), "[optimizer] expected finish_update() before the next update");
  const Tensor values = parameters_.values(), gradients = this->gradients();
  kernels_.judge_gradient(
      verdict_, gradient_squares_.compute(kernels_, gradients),
      {.normalizer = normalizer, .clip_norm = options_.clip_norm, .largest = rule_->largest_norm(values.dtype())});
  verdict_copy_ = HostCopy(verdict_);
  started_rate_ = learning_rate(options_, step_);
  RuleTensors tensors{.weights = values, .gradients = gradients, .state = {}};
  for (size_t i = 0; i < arenas_.size(); ++i)
    tensors.state.push_back(arenas_[i].defined() ? arenas_[i].owned_values() : row_states_[i]);
  rule_->update(kernels_, tensors, plan_, verdict_, {.learning_rate = started_rate_, .number = moments_step_ + 1});
  clear_gradients(gradients);
  if (partition_.is_sharded()) partition_.all_gather(values, {0, values.size()});
  if (has_average()) {
    for (const auto& [own, whole] : average_.matches({0, values.size()}, values))
      kernels_.moving_average(own, whole, verdict_, average_decay(options_.ema, step_));
  }
  copy_frozen_to_average();
}

// Sets to zero what the rule has left: with sharded state the elements of other ranks, and frozen parameters.
void Optimizer::clear_gradients(const Tensor& gradients) const {
  if (partition_.is_sharded()) return gradients.zero();
  for (const Parameter& p : parameters_) {
    if (!p.trainable) p.gradient.zero();
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

std::vector<StateTensor> Optimizer::state() const {
  std::vector<StateTensor> tensors;
  const std::vector<Slot> slots = rule_->slots();
  for (size_t i = 0; i < slots.size(); ++i) {
    int64_t row = 0;
    for (const Parameter& p : parameters_) {
      const bool whole = rule_->updates_matrices() && is_updated_whole(p);
      if (whole != (slots[i].covers != Slot::Covers::elements)) continue;
      const std::string name = concat(slots[i].name, ".", p.name);
      if (slots[i].covers == Slot::Covers::rows) {
        tensors.push_back(rows_state(name, row_states_[i].slice(row, row + p.shape[0]), p));
        row += p.shape[0];
      } else {
        tensors.push_back(state_tensor(name, arenas_[i], p));
      }
    }
  }
  return tensors;
}

// The rank that owns the parameter has the current values: the sum over the ranks is over this one.
StateTensor Optimizer::rows_state(std::string name, const Tensor& values, const Parameter& p) const {
  const bool own = !intersection({element_range(p)}, partition_.owned()).empty();
  const auto read = [this, values, own] {
    if (!partition_.is_sharded()) return values;
    const Tensor current = Tensor::zeros(values.shape(), DType::f64);
    if (own) current.copy_from(values.to_cpu().to(DType::f64));
    const Tensor sum = current.to(values.device());
    partition_.sum(sum);
    return sum.to_cpu().to(values.dtype()).to(values.device());
  };
  return {std::move(name), values.shape(), read, [values](const Tensor& from) { values.copy_from(from); }};
}

StateTensor Optimizer::average(const Parameter& parameter) const {
  return state_tensor(parameter.name, average_, parameter);
}

void Optimizer::reset_average() {
  if (has_average()) average_.copy_from(parameters_.values());
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
