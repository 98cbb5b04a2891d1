// Helpers for fuzz tests of file readers: bounded runs that a seed reproduces, and random damage to bytes.
// The environment variables GYRE_FUZZ_SEED and GYRE_FUZZ_COUNT replace the default run by a longer one, or by the seed
// from a failure's message with GYRE_FUZZ_COUNT=1.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

class Fuzz {
 public:
  explicit Fuzz(uint64_t seed) : numbers_(seed) {}
  uint64_t number() { return numbers_(); }
  size_t below(size_t n) { return n == 0 ? 0 : numbers_() % n; }
  bool one_in(size_t n) { return below(n) == 0; }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[below(items.size())];
  }

  // Flips a bit, changes a byte, or removes, copies, inserts or truncates bytes.
  void damage(std::string& bytes) {
    const size_t at = below(bytes.size() + 1), count = 1 + below(one_in(4) ? 64 : 4);
    switch (below(6)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(number());
        break;
      case 2:
        bytes.erase(at, count);
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(bytes.size() + 1), count));
        break;
      case 4:
        bytes.insert(at, count, static_cast<char>(number()));
        break;
      default:
        bytes.resize(at);
    }
  }

 private:
  std::mt19937_64 numbers_;
};

inline uint64_t fuzz_setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Calls try_one(fuzz) with `count` consecutive seeds. Failures are reported with their seed.
template <class TryOne>
void fuzz(uint64_t count, const TryOne& try_one) {
  const uint64_t first = fuzz_setting("GYRE_FUZZ_SEED", 1);
  count = fuzz_setting("GYRE_FUZZ_COUNT", count);
  MESSAGE("seeds ", first, " to ", first + count - 1, "; set GYRE_FUZZ_SEED and GYRE_FUZZ_COUNT for others");
  for (uint64_t seed = first; seed < first + count; ++seed) {
    INFO("GYRE_FUZZ_SEED=", seed, " GYRE_FUZZ_COUNT=1");
    Fuzz one(seed);
    try_one(one);
  }
}
