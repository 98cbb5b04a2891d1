#include <doctest/doctest.h>

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/random.h"
#include "tests/temporary_directory.h"
#include "tools/workload/workload.h"

using namespace gyre;

TEST_CASE_FIXTURE(InDirectory, "lengths count words and the end of sentence") {
  const Path prefix = directory / "text";
  write_file(Path(prefix) += ".en", "A man.\n\n  two\t words \nlast");
  write_file(Path(prefix) += ".de", "Ein Mann .\nx\n\nEnde");
  CHECK(read_lengths(prefix) == std::vector<PairLengths>{{3, 4}, {1, 2}, {3, 1}, {2, 2}});
  write_file(Path(prefix) += ".de", "Ein Mann .\n");
  CHECK_THROWS_AS(read_lengths(prefix), Error);
  const auto embedded = read_lengths({});
  CHECK(embedded.size() == 20000);
  CHECK(std::all_of(embedded.begin(), embedded.end(), [](const auto& p) { return p.source > 1 && p.target > 1; }));
}

TEST_CASE("token batches have sorted pairs and are just full") {
  RandomStream random(1, 2);
  std::vector<PairLengths> pairs;
  for (int i = 0; i < 3000; ++i) pairs.push_back({int32_t(1 + random.below(30)), int32_t(1 + random.below(40))});
  const std::vector<TokenBatch> batches = token_batches(pairs);
  REQUIRE(batches.size() > 10);

  const auto padded = [](auto begin, auto end) {
    int64_t longest = 0;
    for (auto p = begin; p != end; ++p) longest = std::max<int64_t>({longest, p->source, p->target});
    return longest * (end - begin);
  };
  std::vector<PairLengths> all;
  for (const TokenBatch& batch : batches) {
    CHECK(std::is_sorted(batch.begin(), batch.end()));
    CHECK(padded(batch.begin(), batch.end()) >= 4096);
    CHECK(padded(batch.begin(), batch.end() - 1) < 4096);
    all.insert(all.end(), batch.begin(), batch.end());
  }
  // Together they contain all sorted pairs except the last ones, which do not fill a batch.
  std::sort(all.begin(), all.end());
  std::sort(pairs.begin(), pairs.end());
  REQUIRE(all.size() <= pairs.size());
  CHECK(std::equal(all.begin(), all.end(), pairs.begin()));
  CHECK(padded(pairs.begin() + int64_t(all.size()), pairs.end()) < 4096);
  // The batches are shuffled.
  CHECK_FALSE(std::is_sorted(batches.begin(), batches.end()));

  CHECK_THROWS_WITH_AS(token_batches({{3, 4}}), "[text] 1 pairs do not fill a batch of 4096 tokens", Error);
}

TEST_CASE("random batches have sides of 25 to 35 tokens and similar sizes") {
  const std::vector<TokenBatch> batches = random_batches(4, 833);
  REQUIRE(batches.size() == 4);
  CHECK(batches[0] != batches[1]);
  CHECK(batches == random_batches(4, 833));
  for (const TokenBatch& batch : batches) {
    REQUIRE(batch.size() == 833);
    int64_t source = 0, target = 0;
    for (const auto& pair : batch) {
      CHECK(std::min(pair.source, pair.target) >= 25);
      CHECK(std::max(pair.source, pair.target) <= 35);
      source += pair.source;
      target += pair.target;
    }
    CHECK(std::abs(source - 25000) < 250);
    CHECK(std::abs(target - 25000) < 250);
  }
}
