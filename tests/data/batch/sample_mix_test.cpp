// Epochs that are drawn from several corpora.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "gyre/data/batch/document_batch.h"
#include "tests/errors.h"

namespace gyre {
namespace {

// The numbers that lie in [begin, end), in the order of the epochs.
std::vector<uint32_t> drawn_from(const SampleMix& mix, uint64_t epochs, uint32_t begin, uint32_t end) {
  std::vector<uint32_t> all;
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    for (const uint32_t sample : mix.draw(epoch)) {
      if (sample >= begin && sample < end) all.push_back(sample);
    }
  }
  return all;
}

TEST_CASE("sample mix: without weights, an epoch has every sample once") {
  const SampleMix mix({3, 1, 4}, {}, 5);
  for (uint64_t epoch : {0, 1, 7}) {
    const std::vector<uint32_t> drawn = mix.draw(epoch);
    std::vector<uint32_t> expected(8);
    std::iota(expected.begin(), expected.end(), 0u);
    CHECK(drawn == expected);
  }
}

TEST_CASE("sample mix: shares follow the weights and add up") {
  CHECK(SampleMix({50, 50}, {3, 1}, 0).shares() == std::vector<uint64_t>{75, 25});
  CHECK(SampleMix({1, 9}, {0.5, 0.5}, 0).shares() == std::vector<uint64_t>{5, 5});
  CHECK(SampleMix({4, 3, 3}, {1, 1, 1}, 0).shares() == std::vector<uint64_t>{4, 3, 3});
  CHECK(SampleMix({7}, {0.1}, 0).shares() == std::vector<uint64_t>{7});
  const std::vector<uint64_t> shares = SampleMix({100, 31, 877}, {0.3, 0.3, 0.1}, 0).shares();
  CHECK(std::accumulate(shares.begin(), shares.end(), uint64_t{0}) == 1008);
}

TEST_CASE("sample mix: every corpus gives each sample once before it gives one twice, across epochs") {
  const SampleMix mix({6, 10}, {3, 1}, 11);  // 12 and 4 samples per epoch
  const std::vector<uint32_t> small = drawn_from(mix, 5, 0, 6), large = drawn_from(mix, 5, 6, 16);
  CHECK(small.size() == 60);
  CHECK(large.size() == 20);
  const auto is_once_each = [](std::vector<uint32_t> round, uint32_t first) {
    std::ranges::sort(round);
    for (uint32_t i = 0; i < round.size(); ++i)
      if (round[i] != first + i) return false;
    return true;
  };
  for (size_t at = 0; at < small.size(); at += 6)
    CHECK(is_once_each({small.begin() + long(at), small.begin() + long(at) + 6}, 0));
  for (size_t at = 0; at < large.size(); at += 10)
    CHECK(is_once_each({large.begin() + long(at), large.begin() + long(at) + 10}, 6));
  // Rounds differ in order.
  CHECK(!std::equal(small.begin(), small.begin() + 6, small.begin() + 6));
}

TEST_CASE("sample mix: a draw depends on seed and epoch alone") {
  const SampleMix mix({40, 40}, {1, 2}, 3);
  const std::vector<uint32_t> third = mix.draw(3);
  mix.draw(9);
  CHECK(mix.draw(3) == third);
  CHECK(SampleMix({40, 40}, {1, 2}, 3).draw(3) == third);
  CHECK(SampleMix({40, 40}, {1, 2}, 4).draw(3) != third);
  CHECK(mix.draw(4) != third);
}

TEST_CASE("sample mix: weights of any size, but each with a share") {
  CHECK(SampleMix({4, 4}, {1e308, 1e308}, 0).draw(0).size() == 8);
  CHECK(contains(error_of([] {
                   SampleMix({40, 40}, {1, 1e-9}, 0);
                 }),
                 "got 1e-09 for corpus 2, which has none of the 80 samples of an epoch"));
}

TEST_CASE("sample mix: weights that are refused") {
  CHECK(contains(error_of([] { SampleMix({1, 2}, {1}, 0); }), "expected 2 weights, got 1"));
  for (const double bad :
       {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    CHECK(contains(error_of([&] { SampleMix({1, 2}, {1, bad}, 0); }), "expected weights above 0"));
  CHECK(contains(error_of([] { SampleMix({1, 0}, {1, 1}, 0); }), "expected samples in every corpus"));
}

}  // namespace
}  // namespace gyre
