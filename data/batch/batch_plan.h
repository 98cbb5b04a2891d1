// Assigns the sentences of an epoch to batches. The plan of an epoch is a pure function of (lengths, options, seed,
// epoch). The position in a plan is a single batch number, so a run resumes from any position at the same cost.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/data/store/token_store.h"

namespace gyre {

// The items that batches consist of: the sentences of a token store, or samples cut from one. Refers to the store or
// samples that it was made from, which must outlive it.
struct BatchItems {
  BatchItems(std::string_view name, size_t size, int sides, std::function<uint64_t(size_t item, int side)> tokens)
      : name(name), size(size), sides(sides), tokens(std::move(tokens)) {}
  BatchItems(const TokenStore& store)  // implicit, so that a store can be passed where items are expected
      : BatchItems(store.name(), store.size(), store.sides(),
                   [&store](size_t sentence, int side) { return store.length(sentence, side) + 1; }) {}

  std::string_view name;  // name for messages
  size_t size;
  int sides;
  std::function<uint64_t(size_t item, int side)> tokens;  // length of an item on one side, including </s>
};

// Unit of the size of a batch: tokens of one side or of all sides, or sentences.
enum class BatchUnit : uint8_t { target_tokens, source_tokens, total_tokens, sentences };
template <>
inline constexpr std::pair<BatchUnit, std::string_view> kEnumNames<BatchUnit>[] = {{BatchUnit::target_tokens, "target"},
                                                                                   {BatchUnit::source_tokens, "source"},
                                                                                   {BatchUnit::total_tokens, "total"},
                                                                                   {BatchUnit::sentences, "sentences"}};

// The maximum size of a batch. Token counts include </s>. A store with one side uses it as both source and target.
struct BatchBudget {
  BatchUnit unit = BatchUnit::target_tokens;
  uint64_t amount = 4096;

  uint64_t cost(const BatchItems& items, size_t item) const;  // size of an item in this unit
};

struct BatchOptions {
  BatchBudget budget{};
  uint64_t maxi_batch = 100;  // number of batches whose sentences are sorted by length together
  bool shuffle = true;        // false: keep the order of the corpus, without sorting
  int max_length = 0;         // skip sentences with more ids on either side, including </s>; 0: no limit
};

class EpochPlan {
 public:
  size_t size() const { return first_.size(); }  // number of batches
  std::span<const uint32_t> batch(size_t i) const { return std::span(order_).subspan(first_[i], count_[i]); }
  uint64_t sentences() const { return order_.size(); }
  uint64_t skipped() const { return skipped_; }  // number of sentences over max_length

 private:
  friend EpochPlan plan_epoch(const BatchItems&, const BatchOptions&, uint64_t, uint64_t);
  void cut(const BatchItems& items, const BatchOptions& options);

  std::vector<uint32_t> order_;
  std::vector<uint32_t> first_, count_;  // range of each batch in order_
  uint64_t skipped_ = 0;
};

// Shuffles the sentences, sorts windows of maxi_batch batches by (target, source) length, cuts them into batches within
// the budget, and shuffles the batches. A sentence over the budget becomes a batch by itself. Every sentence within
// max_length occurs exactly once. Throws an Error if no sentence remains.
EpochPlan plan_epoch(const BatchItems& items, const BatchOptions& options, uint64_t seed, uint64_t epoch);

// Splits a global batch into `micro_batches` micro-batches with about equal numbers of tokens: assigns the sentences,
// longest first, to the micro-batch with the fewest tokens. A pure function of its arguments. The sentences of a
// micro-batch keep their order. If there are fewer sentences than micro-batches, some micro-batches are empty.
std::vector<std::vector<uint32_t>> split_into_micro_batches(const BatchItems& items, std::span<const uint32_t> indices,
                                                            size_t micro_batches);

}  // namespace gyre
