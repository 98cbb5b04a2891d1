#include "gyre/train/metrics/significance/numpy_random.h"

#include <array>
#include <bit>
#include <cstddef>

namespace gyre {
namespace {

uint32_t fold(uint32_t value) { return value ^ (value >> 16); }

// A multiplicative hash whose constant changes with every call.
class ChangingHash {
 public:
  ChangingHash(uint32_t constant, uint32_t factor) : constant_(constant), factor_(factor) {}
  uint32_t operator()(uint32_t value) {
    value ^= constant_;
    constant_ *= factor_;
    return fold(value * constant_);
  }

 private:
  uint32_t constant_, factor_;
};

// SeedSequence(seed).generate_state(4, uint64).
std::array<uint64_t, 4> seed_words(uint64_t seed) {
  std::array<uint32_t, 4> pool{uint32_t(seed), uint32_t(seed >> 32)};
  ChangingHash hash_in(0x43B0D7E5, 0x931E8875), hash_out(0x8B51F9DD, 0x58F38DED);
  for (uint32_t& word : pool) word = hash_in(word);
  for (size_t from = 0; from < pool.size(); ++from) {
    for (size_t to = 0; to < pool.size(); ++to) {
      if (from != to) pool[to] = fold(0xCA01F9DD * pool[to] - 0x4973F715 * hash_in(pool[from]));
    }
  }
  std::array<uint64_t, 4> words{};
  for (size_t i = 0; i < 2 * words.size(); ++i) words[i / 2] |= uint64_t(hash_out(pool[i % 4])) << (32 * (i % 2));
  return words;
}

}  // namespace

NumpyRandom::NumpyRandom(uint64_t seed) {
  const auto words = seed_words(seed);
  increment_ = (((Uint128(words[2]) << 64) | words[3]) << 1) | 1;
  step();
  state_ += (Uint128(words[0]) << 64) | words[1];
  step();
}

void NumpyRandom::step() {
  constexpr Uint128 kMultiplier = (Uint128(0x2360ED051FC65DA4) << 64) | 0x4385DF649FCCF645;
  state_ = state_ * kMultiplier + increment_;
}

uint64_t NumpyRandom::next_u64() {
  step();
  const auto high = uint64_t(state_ >> 64);
  return std::rotr(high ^ uint64_t(state_), int(high >> 58));
}

uint32_t NumpyRandom::next_u32() {
  has_high_half_ = !has_high_half_;
  if (!has_high_half_) return high_half_;
  const uint64_t word = next_u64();
  high_half_ = uint32_t(word >> 32);
  return uint32_t(word);
}

bool NumpyRandom::next_bit() {
  if (bits_left_ == 0) {
    bits_ = next_u32();
    bits_left_ = 32;
  }
  const bool bit = (bits_ & 1) != 0;
  bits_ >>= 1;
  --bits_left_;
  return bit;
}

uint32_t NumpyRandom::below(uint32_t n) {
  if (n == 1) return 0;  // takes no number from the generator
  uint64_t product = uint64_t(next_u32()) * n;
  if (uint32_t(product) < n) {
    const uint32_t threshold = (0 - n) % n;
    while (uint32_t(product) < threshold) product = uint64_t(next_u32()) * n;
  }
  return uint32_t(product >> 32);
}

}  // namespace gyre
