#include "gyre/data/batch/batch_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "gyre/core/random.h"
#include "gyre/data/batch/pair_batch.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "tests/data/text_files.h"

using namespace gyre;
using Unit = BatchUnit;
using Ids = std::vector<int32_t>;

namespace {

// Pairs of random lengths, up to 40 ids per side.
TokenStore random_store(size_t sentences, uint64_t seed = 1) {
  RandomStream random(seed, 0);
  auto writer = TokenStoreWriter::in_memory(ByteVocabulary(), 2, "random");
  for (size_t i = 0; i < sentences; ++i) {
    const size_t length = 1 + random.below(35);
    writer.add(Ids(length, 10), Ids(length + random.below(6), 11));
  }
  return writer.finish();
}

std::vector<uint32_t> sorted_sentences(const EpochPlan& plan) {
  std::vector<uint32_t> all;
  for (size_t b = 0; b < plan.size(); ++b) all.insert(all.end(), plan.batch(b).begin(), plan.batch(b).end());
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<uint32_t> flat(const EpochPlan& plan) {
  std::vector<uint32_t> all;
  for (size_t b = 0; b < plan.size(); ++b) {
    all.insert(all.end(), plan.batch(b).begin(), plan.batch(b).end());
    all.push_back(UINT32_MAX);
  }
  return all;
}

std::vector<uint32_t> first_numbers(size_t count) {
  std::vector<uint32_t> all(count);
  std::iota(all.begin(), all.end(), uint32_t{0});
  return all;
}

uint64_t cost_of(const TokenStore& store, const BatchBudget& budget, std::span<const uint32_t> batch) {
  uint64_t cost = 0;
  for (const uint32_t i : batch) cost += budget.cost(store, i);
  return cost;
}

}  // namespace

TEST_CASE("plan: every sentence occurs once, no batch exceeds the budget, and all batches but one are nearly full") {
  const TokenStore store = random_store(5000);
  for (const Unit unit : {Unit::target_tokens, Unit::source_tokens, Unit::total_tokens, Unit::sentences}) {
    for (const bool shuffle : {true, false}) {
      const BatchBudget budget{unit, unit == Unit::sentences ? 37u : 500u};
      const EpochPlan plan = plan_epoch(store, {.budget = budget, .maxi_batch = 10, .shuffle = shuffle}, 1, 0);
      CHECK(sorted_sentences(plan) == first_numbers(5000));
      size_t small = 0;
      for (size_t b = 0; b < plan.size(); ++b) {
        const uint64_t cost = cost_of(store, budget, plan.batch(b));
        CHECK(cost <= budget.amount);
        small += cost + 82 < budget.amount && unit != Unit::sentences;
      }
      CHECK(small <= 1);
    }
  }
}

TEST_CASE("plan: is a pure function of seed and epoch") {
  const TokenStore store = random_store(1000), same = random_store(1000);
  const BatchOptions options{.budget = {Unit::target_tokens, 300}};
  const auto first = flat(plan_epoch(store, options, 1, 0));
  CHECK(flat(plan_epoch(same, options, 1, 0)) == first);
  CHECK(flat(plan_epoch(store, options, 1, 1)) != first);
  CHECK(flat(plan_epoch(store, options, 2, 0)) != first);
  CHECK(flat(plan_epoch(store, options, 1, 0)) == first);
}

TEST_CASE("plan: batches contain sentences of similar length and are in random order") {
  const TokenStore store = random_store(20000);
  const BatchOptions options{.budget = {Unit::target_tokens, 1000}};
  const EpochPlan plan = plan_epoch(store, options, 1, 0);
  double spread = 0;
  size_t shorter_than_the_one_before = 0;
  for (size_t b = 0; b < plan.size(); ++b) {
    const auto batch = plan.batch(b);
    spread += double(store.length(batch.back(), 1)) - double(store.length(batch.front(), 1));
    if (b > 0) shorter_than_the_one_before += store.length(batch[0], 1) < store.length(plan.batch(b - 1)[0], 1);
  }
  CHECK(spread / double(plan.size()) < 3);  // lengths are up to 40; about 38 without sorting
  const double share = double(shorter_than_the_one_before) / double(plan.size());
  CHECK(share > 0.35);
  CHECK(share < 0.65);
}

TEST_CASE("plan: without shuffling, batches keep the order of the corpus") {
  const TokenStore store = random_store(300);
  const EpochPlan plan = plan_epoch(store, {.budget = {Unit::sentences, 7}, .maxi_batch = 3, .shuffle = false}, 1, 5);
  REQUIRE(plan.size() == 43);
  CHECK(plan.batch(0)[0] == 0);
  CHECK(plan.batch(42).size() == 6);
  CHECK(plan.batch(42).back() == 299);
}

TEST_CASE("plan: a sentence over the budget is a batch by itself") {
  auto writer = TokenStoreWriter::in_memory(ByteVocabulary(), 2, "long");
  for (int i = 0; i < 50; ++i) writer.add({5, 6}, i % 10 == 0 ? Ids(200, 9) : Ids(9, 9));
  const TokenStore store = writer.finish();
  for (const uint64_t maxi : {1, 2, 100}) {
    const BatchBudget budget{Unit::target_tokens, 30};
    const EpochPlan plan = plan_epoch(store, {.budget = budget, .maxi_batch = maxi}, 1, 0);
    CHECK(sorted_sentences(plan) == first_numbers(50));
    size_t alone = 0;
    for (size_t b = 0; b < plan.size(); ++b) {
      const bool is_over = cost_of(store, budget, plan.batch(b)) > 30;
      alone += is_over;
      if (is_over) CHECK(plan.batch(b).size() == 1);
    }
    CHECK(alone == 5);
  }
}

TEST_CASE("plan: sentences over max_length are skipped and counted") {
  const TokenStore store = random_store(1000);
  const BatchOptions options{.max_length = 20};
  const EpochPlan plan = plan_epoch(store, options, 1, 0);
  CHECK(plan.skipped() > 0);
  CHECK(plan.sentences() + plan.skipped() == 1000);
  for (const uint32_t i : sorted_sentences(plan)) CHECK(std::max(store.length(i, 0), store.length(i, 1)) < 20);
  CHECK(contains(error_of([&] { plan_epoch(store, {.max_length = 1}, 1, 0); }), "no sentence is left"));
}

TEST_CASE("plan: half a million sentences") {
  const TokenStore store = random_store(500000);
  const EpochPlan plan = plan_epoch(store, {}, 1, 0);
  CHECK(sorted_sentences(plan) == first_numbers(500000));
}

TEST_CASE("batch unit: parsing of names") {
  CHECK(parse_enum<Unit>("", "target") == Unit::target_tokens);
  CHECK(parse_enum<Unit>("", "source") == Unit::source_tokens);
  CHECK(parse_enum<Unit>("", "total") == Unit::total_tokens);
  CHECK(parse_enum<Unit>("", "sentences") == Unit::sentences);
  CHECK_THROWS_AS(parse_enum<Unit>("", "words"), Error);
}

TEST_CASE("micro-batches: contain all sentences in order, with about equal numbers of tokens; some may be empty") {
  const TokenStore store = random_store(2000);
  const EpochPlan plan = plan_epoch(store, {.budget = {Unit::target_tokens, 2000}}, 1, 0);
  for (const size_t micro_batches : {1, 2, 3, 8}) {
    for (size_t b = 0; b < plan.size(); ++b) {
      const auto batch = plan.batch(b);
      const auto parts = split_into_micro_batches(store, batch, micro_batches);
      REQUIRE(parts.size() == micro_batches);
      CHECK(split_into_micro_batches(store, batch, micro_batches) == parts);
      std::vector<uint32_t> joined;
      uint64_t least = UINT64_MAX, most = 0;
      for (const auto& part : parts) {
        // The micro-batch is a subsequence of the batch, so the order is kept.
        auto at = batch.begin();
        for (const uint32_t i : part) {
          at = std::find(at, batch.end(), i);
          REQUIRE(at != batch.end());
        }
        joined.insert(joined.end(), part.begin(), part.end());
        const uint64_t tokens = cost_of(store, {Unit::total_tokens, 1}, part);
        least = std::min(least, tokens);
        most = std::max(most, tokens);
      }
      std::sort(joined.begin(), joined.end());
      std::vector<uint32_t> expected(batch.begin(), batch.end());
      std::sort(expected.begin(), expected.end());
      CHECK(joined == expected);
      CHECK(most - least <= 82);  // the length of the longest pair
    }
  }
  const std::vector<uint32_t> two{5, 9};
  const auto parts = split_into_micro_batches(store, two, 4);
  CHECK(std::count_if(parts.begin(), parts.end(), [](const auto& part) { return part.empty(); }) == 2);
}

TEST_CASE("pair batch: </s> follows the source; <s> precedes and </s> follows the target") {
  auto writer = TokenStoreWriter::in_memory(ByteVocabulary(), 2, "pairs");
  writer.add({10, 11}, {20});
  writer.add({12}, {21, 22, 23});
  writer.add({13, 14, 15}, {24});
  const TokenStore store = writer.finish();
  const PairBatch batch = make_pair_batch(store, std::vector<uint32_t>{2, 1});
  CHECK(batch.source_ids == Ids{13, 14, 15, 2, 12, 2});
  CHECK(batch.target_inputs == Ids{1, 24, 1, 21, 22, 23});
  CHECK(batch.target_outputs == Ids{24, 2, 21, 22, 23, 2});
  CHECK(batch.source.count() == 2);
  CHECK(batch.source.length(0) == 4);
  CHECK(batch.source.begin(1) == 4);
  CHECK(batch.target.length(1) == 4);
  CHECK(batch.target.tokens() == 6);
  CHECK(batch.sentences == 2);
  CHECK(batch.indices == std::vector<uint32_t>{2, 1});
  const PairBatch empty = make_pair_batch(store, {});
  CHECK(empty.source.count() == 0);
  CHECK(empty.target_inputs.empty());
}
