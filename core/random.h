// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011, "Parallel random numbers: as easy as 1, 2, 3").
// Each number is a pure function of (seed, stream, index) and does not depend on thread, rank, batch split or device.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <utility>
#include <vector>

namespace gyre {

// Block number `counter` of a stream: four independent 32-bit words.
constexpr std::array<uint32_t, 4> philox(uint64_t seed, uint64_t stream, uint64_t counter) {
  uint32_t c0 = uint32_t(counter), c1 = uint32_t(counter >> 32), c2 = uint32_t(stream), c3 = uint32_t(stream >> 32);
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c0, p1 = uint64_t{0xCD9E8D57} * c2;
    c0 = uint32_t(p1 >> 32) ^ c1 ^ k0;
    c1 = uint32_t(p1);
    c2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c3 = uint32_t(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {c0, c1, c2, c3};
}

// Word number `index` of a stream.
constexpr uint32_t random_u32(uint64_t seed, uint64_t stream, uint64_t index) {
  return philox(seed, stream, index / 4)[index % 4];
}

// Uniform on [0, 1), with 53 random bits.
inline double random_uniform(uint64_t seed, uint64_t stream, uint64_t index) {
  const auto w = philox(seed, stream, index);
  return double((uint64_t(w[0]) << 21) ^ (w[1] >> 11)) * 0x1p-53;
}

// Standard normal (Box-Muller).
inline double random_normal(uint64_t seed, uint64_t stream, uint64_t index) {
  const auto w = philox(seed, stream, index);
  const double u = (double(w[0]) + 1.0) * 0x1p-32, v = double(w[1]) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

// Mixes two values into one seed or stream number, with the finalizer of splitmix64.
inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = a + 0x9E3779B97F4A7C15 * (b + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// FNV-1a hash of a name, for use as a stream number.
inline uint64_t hash_name(std::string_view name) {
  uint64_t h = 0xCBF29CE484222325;
  for (char c : name) h = (h ^ uint8_t(c)) * 0x100000001B3;
  return h;
}

// Draws numbers from one stream in sequence, for shuffles and data generators.
class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}
  double uniform() { return random_uniform(seed_, stream_, next_++); }
  double normal() { return random_normal(seed_, stream_, next_++); }
  // Uniform on [0, n), n > 0: the high half of a 128-bit product. The bias is at most 2^-64 * n.
  uint64_t below(uint64_t n) {
    const auto w = philox(seed_, stream_, next_++);
    const uint64_t bits = (uint64_t(w[0]) << 32) | w[1];
    return uint64_t((static_cast<unsigned __int128>(bits) * n) >> 64);
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  uint64_t seed_, stream_, next_ = 0;
};

}  // namespace gyre
