// Random choices for one sentence pair, drawn from one random stream. At most one argument of a function call may draw,
// because C++ does not specify the order of evaluation, and the corpus must not depend on the compiler.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "gyre/core/error.h"
#include "gyre/core/random.h"

namespace gyre::corpus {

class Draw {
 public:
  Draw(uint64_t seed, uint64_t index) : random_(mix(seed, hash_name("embedded corpus")), index) {}

  bool chance(double probability) { return random_.uniform() < probability; }

  // Uniform in [low, high].
  uint32_t between(uint32_t low, uint32_t high) { return low + uint32_t(random_.below(high - low + 1)); }

  template <class T>
  const T& pick(std::span<const T> items) {
    return items[random_.below(items.size())];
  }
  template <class T, size_t N>
  const T& pick(const T (&items)[N]) {
    return items[random_.below(N)];
  }

  // Uniform among the items that satisfy `wanted`. Throws an Error if there are none.
  template <class T, class Wanted>
  const T& pick_if(std::span<const T> items, Wanted wanted) {
    const auto matches = std::ranges::count_if(items, wanted);
    require(matches > 0, "[embedded corpus] expected an entry that fits, got none");
    uint64_t skip = random_.below(uint64_t(matches));
    for (const T& item : items) {
      if (wanted(item) && skip-- == 0) return item;
    }
    throw Error("[embedded corpus] unreachable: the predicate is not deterministic");
  }

  // Number of items in a scene, at least 1: usually small, sometimes dozens or hundreds.
  uint32_t handful() {
    const double u = random_.uniform();
    if (u < 0.12) return 1;
    if (u < 0.6) return between(2, 12);
    return u < 0.9 ? between(13, 99) : between(100, 999);
  }

  // A number from 0 to a million. Covers every order of magnitude; half of the large numbers are round.
  uint32_t any_number() {
    const double u = random_.uniform();
    if (u < 0.15) return between(0, 12);
    if (u < 0.40) return between(13, 99);
    return u < 0.68 ? between(100, 999) : large_number();
  }

  // A number from a thousand to a million; half of them are round.
  uint32_t large_number() {
    const double u = random_.uniform();
    if (u < 0.03) return 1'000'000;
    const uint32_t n = u < 0.5 ? between(1000, 9999) : u < 0.8 ? between(10'000, 99'999) : between(100'000, 999'999);
    if (chance(0.5)) return n;
    const uint32_t unit = n < 10'000 ? 100 : n < 100'000 ? 1000 : 10'000;
    return n / unit * unit;
  }

 private:
  RandomStream random_;
};

}  // namespace gyre::corpus
