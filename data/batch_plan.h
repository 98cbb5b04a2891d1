// Which sentences make up which batch. The plan of an epoch is a pure function of (lengths, options, seed, epoch): the
// position in it is one number, the batch, so that resuming costs the same anywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "data/token_store.h"

namespace gyre {

// What batches are made of: the sentences of a store, or the samples that are cut from one. It views what it was made
// from.
struct BatchItems {
  BatchItems(std::string_view name, size_t size, int sides, std::function<uint64_t(size_t item, int side)> tokens)
      : name(name), size(size), sides(sides), tokens(std::move(tokens)) {}
  BatchItems(const TokenStore& store)  // its sentences: wherever items are expected, a store will do
      : BatchItems(store.name(), store.size(), store.sides(),
                   [&store](size_t sentence, int side) { return store.length(sentence, side) + 1; }) {}

  std::string_view name;  // for messages
  size_t size;
  int sides;
  std::function<uint64_t(size_t item, int side)> tokens;  // with </s>
};

// The size of a batch. Tokens are ids with </s>; where there is one side, it is source and target.
struct BatchBudget {
  enum class Unit : uint8_t { target_tokens, source_tokens, total_tokens, sentences };
  Unit unit = Unit::target_tokens;
  uint64_t amount = 4096;

  static Unit parse_unit(std::string_view text);  // "target", "source", "total" or "sentences"; else UsageError
  uint64_t cost(const BatchItems& items, size_t item) const;
};

struct BatchOptions {
  BatchBudget budget{};
  uint64_t maxi_batch = 100;  // batches' worth of sentences sorted by length at a time
  bool shuffle = true;        // false: the order of the corpus, unsorted
  int max_length = 0;         // sentences with more ids on a side, with </s>, are left out; 0: none are
};

class EpochPlan {
 public:
  size_t size() const { return first_.size(); }  // batches
  std::span<const uint32_t> batch(size_t i) const { return std::span(order_).subspan(first_[i], count_[i]); }
  uint64_t sentences() const { return order_.size(); }
  uint64_t left_out() const { return left_out_; }  // sentences over max_length

 private:
  friend EpochPlan plan_epoch(const BatchItems&, const BatchOptions&, uint64_t, uint64_t);
  void cut(const BatchItems& items, const BatchOptions& options);

  std::vector<uint32_t> order_;
  std::vector<uint32_t> first_, count_;  // of each batch, in order_
  uint64_t left_out_ = 0;
};

// Shuffles the sentences, sorts windows of maxi_batch batches by (target, source) length, cuts them into batches within
// the budget (a sentence over the budget is a batch of its own), and shuffles the batches. Every sentence comes once.
EpochPlan plan_epoch(const BatchItems& items, const BatchOptions& options, uint64_t seed, uint64_t epoch);

// Cuts a global batch into `shards` parts of about equal numbers of tokens (longest first, to the emptiest shard), a
// pure function of its arguments. The sentences of a shard keep their order; with fewer sentences than shards some
// shards are empty.
std::vector<std::vector<uint32_t>> cut_into_shards(const BatchItems& items, std::span<const uint32_t> indices,
                                                   size_t shards);

}  // namespace gyre
