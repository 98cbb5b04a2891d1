#include "gyre/data/batch/batch_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/random.h"

namespace gyre {

namespace {

uint64_t total_cost(const BatchItems& items, size_t item) {
  return BatchBudget{.unit = BatchUnit::total_tokens}.cost(items, item);
}

// The sort is stable: sentences of equal length keep their shuffled order.
void sort_by_length(const BatchItems& items, std::span<uint32_t> window) {
  struct Item {
    uint32_t target, source, sentence;
  };
  std::vector<Item> sorted;
  sorted.reserve(window.size());
  for (const uint32_t i : window) {
    sorted.push_back({uint32_t(items.tokens(i, items.sides - 1)), uint32_t(items.tokens(i, 0)), i});
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Item& a, const Item& b) {
    return std::pair(a.target, a.source) < std::pair(b.target, b.source);
  });
  std::transform(sorted.begin(), sorted.end(), window.begin(), [](const Item& item) { return item.sentence; });
}

bool is_within(const BatchItems& items, size_t item, int max_length) {
  for (int side = 0; side < items.sides; ++side) {
    if (items.tokens(item, side) > uint64_t(max_length)) return false;
  }
  return true;
}

}  // namespace

uint64_t BatchBudget::cost(const BatchItems& items, size_t item) const {
  switch (unit) {
    case BatchUnit::sentences:
      return 1;
    case BatchUnit::source_tokens:
      return items.tokens(item, 0);
    case BatchUnit::target_tokens:
      return items.tokens(item, items.sides - 1);
    case BatchUnit::total_tokens:
      break;
  }
  uint64_t tokens = 0;
  for (int side = 0; side < items.sides; ++side) tokens += items.tokens(item, side);
  return tokens;
}

EpochPlan plan_epoch(const BatchItems& items, const BatchOptions& options, uint64_t seed, uint64_t epoch) {
  require(options.budget.amount > 0, "[batches] expected a budget above 0");
  require(options.maxi_batch > 0, "[batches] --maxi-batch: expected at least 1");
  require(items.size <= std::numeric_limits<uint32_t>::max(), "[batches] ", items.name,
          ": expected at most 2^32 - 1 sentences, got ", items.size);
  EpochPlan plan;
  plan.order_.resize(items.size);
  std::iota(plan.order_.begin(), plan.order_.end(), uint32_t{0});
  if (options.max_length > 0) {
    plan.skipped_ = std::erase_if(plan.order_, [&](uint32_t i) { return !is_within(items, i, options.max_length); });
  }
  require(!plan.order_.empty(), "[batches] ", items.name, ": no sentence is left (", plan.skipped_, " of ", items.size,
          " are over ", options.max_length, " tokens)");
  RandomStream random(mix(seed, hash_name("batches")), epoch);
  if (options.shuffle) random.shuffle(plan.order_);
  plan.cut(items, options);
  if (!options.shuffle) return plan;
  for (size_t i = plan.size(); i > 1; --i) {
    const size_t other = random.below(i);
    std::swap(plan.first_[i - 1], plan.first_[other]);
    std::swap(plan.count_[i - 1], plan.count_[other]);
  }
  return plan;
}

// The last batch of a window is usually not full. Its sentences move to the next window, so that only the last batch of
// the epoch is smaller than necessary.
void EpochPlan::cut(const BatchItems& items, const BatchOptions& options) {
  const uint64_t budget = options.budget.amount;
  size_t begin = 0, end = 0;
  while (begin < order_.size()) {
    double room = double(budget) * double(options.maxi_batch);
    while (end < order_.size() && (room > 0 || end == begin)) room -= double(options.budget.cost(items, order_[end++]));
    if (options.shuffle) sort_by_length(items, std::span(order_).subspan(begin, end - begin));
    size_t first = begin;
    uint64_t used = 0;
    for (size_t i = begin; i < end; ++i) {
      const uint64_t cost = options.budget.cost(items, order_[i]);
      if (i > first && used + cost > budget) {
        first_.push_back(uint32_t(first));
        count_.push_back(uint32_t(i - first));
        first = i;
        used = 0;
      }
      used += cost;
    }
    if (end == order_.size()) {
      first_.push_back(uint32_t(first));
      count_.push_back(uint32_t(end - first));
      first = end;
    }
    begin = first;
  }
}

std::vector<std::vector<uint32_t>> split_into_micro_batches(const BatchItems& items, std::span<const uint32_t> indices,
                                                            size_t micro_batches) {
  require(micro_batches > 0, "[batches] expected at least one micro-batch");
  std::vector<uint64_t> cost;
  for (const uint32_t i : indices) cost.push_back(total_cost(items, i));
  std::vector<size_t> longest_first(indices.size());
  std::iota(longest_first.begin(), longest_first.end(), size_t{0});
  std::stable_sort(longest_first.begin(), longest_first.end(), [&](size_t a, size_t b) { return cost[a] > cost[b]; });
  std::vector<uint64_t> load(micro_batches, 0);
  std::vector<size_t> micro_batch_of(indices.size());
  for (const size_t k : longest_first) {
    const auto emptiest = std::min_element(load.begin(), load.end());
    *emptiest += cost[k];
    micro_batch_of[k] = size_t(emptiest - load.begin());
  }
  std::vector<std::vector<uint32_t>> parts(micro_batches);
  for (size_t k = 0; k < indices.size(); ++k) parts[micro_batch_of[k]].push_back(indices[k]);
  return parts;
}

}  // namespace gyre
