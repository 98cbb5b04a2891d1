// Which sentences make up which batch. The plan of an epoch is a pure function of (lengths, options, seed, epoch): the
// position in it is one number, the batch, so that resuming costs the same anywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/token_store.h"

namespace gyre {

// The size of a batch. Tokens are ids with </s>; on a store with one side the target is that side.
struct BatchBudget {
  enum class Unit : uint8_t { target_tokens, source_tokens, total_tokens, sentences };
  Unit unit = Unit::target_tokens;
  uint64_t amount = 4096;

  static Unit parse_unit(std::string_view text);  // "target", "source", "total" or "sentences"; else UsageError
  uint64_t cost(const TokenStore& store, size_t sentence) const;
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
  friend EpochPlan plan_epoch(const TokenStore&, const BatchOptions&, uint64_t, uint64_t);
  void cut(const TokenStore& store, const BatchOptions& options);

  std::vector<uint32_t> order_;
  std::vector<uint32_t> first_, count_;  // of each batch, in order_
  uint64_t left_out_ = 0;
};

// Shuffles the sentences, sorts windows of maxi_batch batches by (target, source) length, cuts them into batches within
// the budget (a sentence over the budget is a batch of its own), and shuffles the batches. Every sentence comes once.
EpochPlan plan_epoch(const TokenStore& store, const BatchOptions& options, uint64_t seed, uint64_t epoch);

// Cuts a global batch into `shards` parts of about equal numbers of tokens (longest first, to the emptiest shard), a
// pure function of its arguments. The sentences of a shard keep their order; with fewer sentences than shards some
// shards are empty.
std::vector<std::vector<uint32_t>> cut_into_shards(const TokenStore& store, std::span<const uint32_t> indices,
                                                   size_t shards);

}  // namespace gyre
