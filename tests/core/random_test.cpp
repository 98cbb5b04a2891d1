#include "gyre/core/random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

using namespace gyre;

TEST_CASE("philox4x32-10 gives the known answers of Random123") {
  using Words = std::array<uint32_t, 4>;
  CHECK(philox(0, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(~0ull, ~0ull, ~0ull) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform and normal numbers have the expected moments") {
  double mean = 0, square = 0, normal_mean = 0, normal_square = 0;
  constexpr int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double u = random_uniform(7, 1, uint64_t(i)), z = random_normal(7, 2, uint64_t(i));
    REQUIRE((u >= 0 && u < 1));
    mean += u / n;
    square += u * u / n;
    normal_mean += z / n;
    normal_square += z * z / n;
  }
  CHECK(mean == doctest::Approx(0.5).epsilon(0.01));
  CHECK(square == doctest::Approx(1.0 / 3).epsilon(0.01));
  CHECK(std::abs(normal_mean) < 0.02);
  CHECK(normal_square == doctest::Approx(1).epsilon(0.02));
}

TEST_CASE("a shuffle is a permutation and a pure function of seed and stream") {
  const auto shuffled = [](uint64_t seed, uint64_t stream) {
    std::vector<int> items(1000);
    std::iota(items.begin(), items.end(), 0);
    RandomStream(seed, stream).shuffle(items);
    return items;
  };
  auto items = shuffled(1, 2);
  CHECK(items == shuffled(1, 2));
  CHECK(items != shuffled(1, 3));
  CHECK(items != shuffled(2, 2));
  std::sort(items.begin(), items.end());
  for (int i = 0; i < 1000; ++i) CHECK(items[size_t(i)] == i);
}
