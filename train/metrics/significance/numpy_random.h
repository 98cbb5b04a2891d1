// NumpyRandom: the numbers of numpy.random.default_rng(seed), so that resampling tests draw the samples of sacreBLEU.
// The generator is PCG64, i.e. PCG XSL RR 128/64 (O'Neill, 2014), seeded by NumPy's SeedSequence.
#pragma once

#include <cstdint>

namespace gyre {

class NumpyRandom {
 public:
  explicit NumpyRandom(uint64_t seed);

  uint64_t next_u64();
  uint32_t next_u32();  // the low half of a 64-bit number, then its high half
  bool next_bit();      // Generator.integers(2, dtype=bool): the bits of 32-bit numbers, lowest first

  // Uniform on [0, n), 0 < n < 2^32, as Generator.integers(n): multiplication with rejection (Lemire, 2019).
  uint32_t below(uint32_t n);

 private:
  using Uint128 = unsigned __int128;
  void step();

  Uint128 state_ = 0, increment_ = 0;
  uint32_t high_half_ = 0, bits_ = 0;
  bool has_high_half_ = false;
  int bits_left_ = 0;
};

}  // namespace gyre
