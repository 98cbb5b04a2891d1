#include "gyre/train/parallel/reducer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/train/parallel/all_reduce.h"

namespace gyre {

namespace {

// Part of a range, relative to the begin of another one.
Tensor slice_of(const Tensor& values, ElementRange part, int64_t first) {
  return values.slice(part.begin - first, part.end - first);
}

}  // namespace

ShardedGradients::ShardedGradients(Kernels& kernels, Parameters& parameters, std::vector<ElementRange> owned)
    : kernels_(kernels), parameters_(parameters), owned_(std::move(owned)), taken_(parameters.count()) {
  parameters.free_gradients();
  const Tensor values = parameters.values();
  sums_ = Tensor::zeros({owned_.elements()}, values.dtype(), values.device());
}

Tensor ShardedGradients::take(ElementRange range) {
  const Tensor arena = parameters_.values();
  Tensor values = Tensor::zeros({range.size()}, arena.dtype(), arena.device());
  for (Parameter& p : parameters_) {
    const ElementRange own = element_range(p);
    const ElementRange both{std::max(own.begin, range.begin), std::min(own.end, range.end)};
    if (both.begin >= both.end) continue;
    if (p.gradient) {
      const Tensor gradient = p.gradient.reshape({own.size()});
      slice_of(values, both, range.begin).copy_from(slice_of(gradient, both, own.begin));
    }
    int64_t& taken = taken_[size_t(p.index)];
    taken += both.size();
    if (taken < own.size()) continue;
    taken = 0;
    p.gradient = {};
  }
  return values;
}

void ShardedGradients::add(ElementRange range, const Tensor& sums) const {
  const int64_t begin = owned_.position(range.begin);
  const Tensor own = sums_.slice(begin, begin + range.size());
  kernels_.add(own, own, sums);
}

void ShardedGradients::add_rows(const Parameter& table, const std::vector<int32_t>& rows, const Tensor& sums) const {
  const int64_t width = table.shape[1];
  for (const ElementRange& own : intersection(owned_.ranges(), {element_range(table)})) {
    // The rows of which this rank owns elements.
    const auto first_row = int32_t((own.begin - table.offset) / width);
    const auto past_row = int32_t((own.end - table.offset + width - 1) / width);
    const auto first = std::lower_bound(rows.begin(), rows.end(), first_row);
    const auto past = std::lower_bound(first, rows.end(), past_row);
    if (first == past) continue;
    std::vector<int32_t> places;
    for (auto row = first; row != past; ++row) places.push_back(*row - first_row);
    const Tensor dense = Tensor::zeros({past_row - first_row, width}, sums.dtype(), sums.device());
    kernels_.embedding_backward(dense, sums.slice(first - rows.begin(), past - rows.begin()),
                                Tensor::from({int64_t(places.size())}, places), 1);
    add(own, slice_of(dense.reshape({dense.size()}), own, table.offset + first_row * width));
  }
}

SparseAllReduce::SparseAllReduce(Communicator& ranks, Kernels& kernels, Parameters& parameters, AsyncAllReduce& sum)
    : ranks_(ranks), kernels_(kernels), sum_(sum) {
  size_t rows = 0;
  for (Parameter& p : parameters) {
    if (!p.is_table || !p.trainable) continue;
    tables_.push_back(std::make_unique<Table>(Table{p, rows, {}}));
    rows += size_t(p.shape[0]);
  }
  marks_.resize(rows);
}

SparseAllReduce::~SparseAllReduce() {
  for (const auto& table : tables_) table->parameter.sparse_gradients = nullptr;
}

void SparseAllReduce::begin() {
  for (const auto& table : tables_) table->parameter.sparse_gradients = &table->own;
}

void SparseAllReduce::exchange_indices() {
  std::fill(marks_.begin(), marks_.end(), 0.0F);
  for (const auto& table : tables_) {
    for (const SparseGradient& g : table->own) {
      for (const int32_t id : g.ids.span<int32_t>()) marks_[table->first_mark + size_t(id)] = 1;
    }
  }
  ranks_.start_all_reduce(marks_, [] {});
}

void SparseAllReduce::reduce(const AddRows& add) {
  ranks_.finish();
  std::vector<std::pair<std::vector<int32_t>, Tensor>> sums;  // row indices and the sums of the rows, by table
  for (const auto& table : tables_) {
    std::vector<int32_t> rows;
    for (int32_t row = 0; row < table->parameter.shape[0]; ++row) {
      if (marks_[table->first_mark + size_t(row)] > 0) rows.push_back(row);
    }
    const Tensor sum = rows.empty() ? Tensor() : sum_of_rows(*table, rows);
    sums.emplace_back(std::move(rows), sum);
  }
  sum_.finish();
  for (size_t i = 0; i < tables_.size(); ++i) {
    const auto& [rows, sum] = sums[i];
    if (sum) add(tables_[i]->parameter, rows, sum);
    tables_[i]->own.clear();
    tables_[i]->parameter.sparse_gradients = nullptr;
  }
}

// Starts the sum of these rows over the ranks. Returns the tensor that receives it, (rows, features).
Tensor SparseAllReduce::sum_of_rows(const Table& table, const std::vector<int32_t>& rows) const {
  std::vector<int32_t> place(size_t(table.parameter.shape[0]));
  for (size_t i = 0; i < rows.size(); ++i) place[size_t(rows[i])] = int32_t(i);
  const Tensor& value = table.parameter.value;
  Tensor own = Tensor::zeros({int64_t(rows.size()), table.parameter.shape[1]}, value.dtype(), value.device());
  for (const SparseGradient& g : table.own) {
    if (!g.gradient) continue;  // backward did not reach it
    std::vector<int32_t> places;
    for (const int32_t id : g.ids.span<int32_t>()) places.push_back(place[size_t(id)]);
    kernels_.embedding_backward(own, g.gradient, Tensor::from({int64_t(places.size())}, places), g.factor);
  }
  const Tensor flat = own.reshape({own.size()});
  for (int64_t at = 0; at < flat.size(); at += Communicator::kMaxElementsPerCall)
    sum_.start({flat.slice(at, std::min(flat.size(), at + Communicator::kMaxElementsPerCall))}, kSharedByRanks);
  return own;
}

namespace {

// A multiple of kSquaresBlock: the gradient norm then adds the same blocks for any ownership.
int64_t bucket_elements(double mb) {
  constexpr int64_t kMaxBlocks = Communicator::kMaxElementsPerCall / kSquaresBlock;
  const double blocks = mb * (1 << 20) / sizeof(float) / kSquaresBlock;
  // Clamp before the conversion: a double beyond 2^63 has no int64_t value.
  return int64_t(std::clamp(blocks, 1.0, double(kMaxBlocks))) * kSquaresBlock;
}

int64_t blocks_up(int64_t element) { return squares_blocks(element) * kSquaresBlock; }
int64_t blocks_down(int64_t element) { return element / kSquaresBlock * kSquaresBlock; }

AllReduceOptions sums_of(const ReducerOptions& options) {
  return {options.deterministic ? options.micro_batches : 0, options.comm_dtype, options.sharded,
          options.shared_memory};
}

// Joins neighbors.
std::vector<ElementRange> joined(const std::vector<ElementRange>& ranges) {
  std::vector<ElementRange> result;
  for (const ElementRange& range : ranges) {
    if (!result.empty() && result.back().end == range.begin) {
      result.back().end = range.end;
    } else {
      result.push_back(range);
    }
  }
  return result;
}

bool lies_in(const Parameter& p, ElementRange range) { return overlap(element_range(p), range); }

}  // namespace

GradientReducer::GradientReducer(Communicator& ranks, Kernels& kernels, Parameters& parameters,
                                 const ReducerOptions& options)
    : ranks_(ranks),
      kernels_(kernels),
      parameters_(parameters),
      options_(options),
      gpus_(connect_gpus(ranks, kernels.device(), sums_of(options))),
      sum_(make_async_all_reduce(ranks, kernels, sums_of(options), gpus_)) {
  require(options.sharded || !options.shards_gradients, "[reducer] expected sharded sums if gradients are sharded");
  const MicroBatchRange own = micro_batches_of_rank(options.micro_batches, ranks.size(), ranks.rank());
  own_micro_batches_ = own.count();
  if (options.deterministic) {
    nodes_ = std::make_unique<SubtreeSums>(kernels, options.micro_batches, own);
  } else if (ranks.size() > 1) {
    if (options.sharded)
      sum_for_all_ = make_async_all_reduce(
          ranks, kernels, {.comm_dtype = options.comm_dtype, .shared_memory = options.shared_memory}, gpus_);
    rows_ = std::make_unique<SparseAllReduce>(ranks, kernels, parameters, sum_for_all_ ? *sum_for_all_ : *sum_);
  }
  make_buckets();
  if (options.shards_gradients && is_sharded())
    shards_ = std::make_unique<ShardedGradients>(kernels, parameters, owned());
  begin_pass();
}

void GradientReducer::make_buckets() {
  std::vector<ArenaSpan> spans = options_.spans;
  if (spans.empty() || !is_sharded()) spans = {{{0, parameters_.values().size()}}};
  std::vector<Bucket> tables;
  for (auto span = spans.rbegin(); span != spans.rend(); ++span) divide_span(*span, tables);
  buckets_.insert(buckets_.begin(), tables.begin(), tables.end());
  for (const Parameter& p : parameters_) {
    for (Bucket& b : buckets_) b.waits_for += p.trainable && lies_in(p, b.range) ? 1 : 0;
  }
}

// Divides a span from its end to its begin. Adds the buckets of tables to `tables`.
void GradientReducer::divide_span(const ArenaSpan& span, std::vector<Bucket>& tables) {
  const int64_t most = bucket_elements(options_.bucket_mb);
  for (int64_t end = span.range.end, begin = 0; end > span.range.begin; end = begin) {
    // The span may end within a block.
    begin = span.range.begin + std::max<int64_t>(0, blocks_up(end - span.range.begin) - most);
    const ElementRange table = next_table(end, span.range.begin);
    const bool within = table.end == end;
    begin = std::max(begin, within ? table.begin : table.end);
    (within ? tables : buckets_).push_back({{begin, end}, span.owner});
  }
}

// The whole blocks of the last trainable table in a span before `end` if sparse gradients are reduced separately. If
// there is none, an empty range at the begin of the span.
ElementRange GradientReducer::next_table(int64_t end, int64_t run_begin) const {
  ElementRange found{run_begin, run_begin};
  for (const Parameter& p : parameters_) {
    if (!rows_ || !p.is_table || !p.trainable || p.offset < run_begin) continue;
    const int64_t first = p.offset - run_begin;
    const ElementRange blocks{run_begin + blocks_up(first), run_begin + blocks_down(first + p.shape.elements())};
    if (blocks.size() > 0 && blocks.begin < end && blocks.end > found.end)
      found = {blocks.begin, std::min(blocks.end, end)};
  }
  return found;
}

TapeObserver* GradientReducer::begin_micro_batch() {
  if (!reduces_every_micro_batch() && ended_micro_batches_ + 1 < own_micro_batches_) return nullptr;
  if (rows_) rows_->begin();
  return this;
}

void GradientReducer::end_micro_batch() {
  ++ended_micro_batches_;
  if (ended_micro_batches_ == own_micro_batches_) return;  // finish() reduces the rest
  if (reduces_every_micro_batch()) return reduce_rest();
  if (!nodes_) return;
  std::vector<Tensor> gradients;
  for (const Bucket& b : buckets_) {
    gradients.push_back(shards_ ? shards_->take(b.range)
                                : parameters_.gradients().slice(b.range.begin, b.range.end).clone());
  }
  parameters_.zero_gradients();
  nodes_->end_micro_batch(std::move(gradients));
}

void GradientReducer::finish() {
  require(ended_micro_batches_ == own_micro_batches_, "[reducer] finish: expected ", own_micro_batches_,
          " micro-batches, got ", ended_micro_batches_);
  // Rank 0 has the most micro-batches. The others take part in the reductions of all of them.
  const int most = micro_batches_of_rank(options_.micro_batches, ranks_.size(), 0).count();
  const int left = reduces_every_micro_batch() ? most - std::max(own_micro_batches_ - 1, 0) : 1;
  for (int i = 0; i < left; ++i) reduce_rest();
  ended_micro_batches_ = 0;
  if (nodes_) nodes_->restart();
}

void GradientReducer::on_parameter_ready(Parameter& p) {
  if (ready_[size_t(p.index)]) return;
  ready_[size_t(p.index)] = true;
  for (size_t i = next_; i < buckets_.size(); ++i) {
    if (lies_in(p, buckets_[i].range)) --missing_[i];
  }
  while (next_ < buckets_.size() && missing_[next_] == 0) launch_next();
}

void GradientReducer::launch_next() {
  if (in_flight_.size() == kMostInFlight) complete_sums();
  const auto& [range, owner, waits_for] = buckets_[next_];
  // If there is no memory for them, reduce_rest() begins with this bucket, as other ranks do.
  const Tensor gradients = shards_ ? shards_->take(range) : parameters_.gradients().slice(range.begin, range.end);
  if (rows_ && next_ == 0) rows_->exchange_indices();
  const size_t index = next_++;
  if (shards_) in_flight_.push_back({index, gradients});
  sum_->start(nodes_ ? nodes_->take(index, gradients) : std::vector<Tensor>{gradients}, owner);
}

// Waits for the started sums. If gradients are sharded, keeps this rank's part of them.
void GradientReducer::complete_sums() {
  sum_->finish();
  for (const auto& [index, gradients] : in_flight_) {
    const ElementRange own = own_part(buckets_[index]);
    const int64_t first = buckets_[index].range.begin;
    if (own.size() > 0) shards_->add(own, gradients.slice(own.begin - first, own.end - first));
  }
  in_flight_.clear();
}

// Reduces the buckets that backward has left, and the gradients of lookups.
void GradientReducer::reduce_rest() {
  if (next_ < buckets_.size()) warn_of_unused_parameters();
  while (next_ < buckets_.size()) launch_next();
  complete_sums();
  if (rows_) {
    rows_->reduce([this](const Parameter& table, const std::vector<int32_t>& rows, const Tensor& sums) {
      if (shards_) return shards_->add_rows(table, rows, sums);
      kernels_.embedding_backward(table.gradient, sums, Tensor::from({int64_t(rows.size())}, rows), 1);
    });
  }
  begin_pass();
}

// Before a backward pass: no gradient is final, and no bucket is reduced.
void GradientReducer::begin_pass() {
  next_ = 0;
  ready_.assign(parameters_.count(), false);
  missing_.clear();
  for (const Bucket& b : buckets_) missing_.push_back(b.waits_for);
}

void GradientReducer::warn_of_unused_parameters() {
  if (has_warned_ || ranks_.rank() != 0) return;
  std::string names;
  for (const Parameter& p : parameters_) {
    if (p.trainable && !ready_[size_t(p.index)]) names += " " + p.name;
  }
  // A rank whose micro-batch is empty runs no backward pass: this is not an error in the model.
  if (std::find(ready_.begin(), ready_.end(), true) == ready_.end()) return;
  spdlog::warn("parameters without a gradient (communication cannot overlap past them):{}", names);
  has_warned_ = true;
}

// The elements of a bucket that this rank owns.
ElementRange GradientReducer::own_part(const Bucket& bucket) const {
  const SplitBuffer<std::byte> slices{nullptr, shard_ends(bucket.range.size(), ranks_.size(), bucket.owner)};
  const int64_t begin = bucket.range.begin + slices.begin(ranks_.rank());
  return {begin, begin + slices.size(ranks_.rank())};
}

std::vector<ElementRange> GradientReducer::buckets() const {
  std::vector<ElementRange> ranges;
  for (const Bucket& b : buckets_) ranges.push_back(b.range);
  return ranges;
}

std::vector<ElementRange> GradientReducer::owned() const {
  if (!is_sharded()) return {{0, parameters_.values().size()}};
  std::vector<ElementRange> ranges;
  for (const Bucket& b : buckets_) {
    const ElementRange own = own_part(b);
    if (own.size() > 0) ranges.push_back(own);
  }
  std::sort(ranges.begin(), ranges.end(), [](ElementRange a, ElementRange b) { return a.begin < b.begin; });
  return joined(ranges);
}

ElementRange GradientReducer::all_gather_range(ElementRange range) const {
  for (const Bucket& b : buckets_) {
    if (!overlap(b.range, range)) continue;
    range.begin = std::min(range.begin, b.range.begin);
    range.end = std::max(range.end, b.range.end);
  }
  return range;
}

void GradientReducer::sum(const Tensor& values) const {
  if (gpus_) {
    gpus_->begin();
    gpus_->all_reduce(values);
    return gpus_->finish();
  }
  const Tensor on_cpu = values.to_cpu();
  ranks_.all_reduce(on_cpu.span<double>());
  if (values.device() != Device{}) values.copy_from(on_cpu);
}

void GradientReducer::all_gather(const Tensor& window, ElementRange range) const {
  std::vector<ShardedRange> parts;
  for (const Bucket& b : buckets_) {
    if (overlap(b.range, range))
      parts.push_back({window.slice(b.range.begin - range.begin, b.range.end - range.begin), b.owner});
  }
  if (gpus_) return all_gather_shards(*gpus_, ranks_.size(), parts);
  all_gather_shards(ranks_, parts, options_.shared_memory);
}

}  // namespace gyre
