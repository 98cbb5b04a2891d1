// The conversions of core/cuda/numbers.h, vectors.h and tensor_core.h, for every bf16 number.
#include <doctest/doctest.h>

#include <bit>
#include <limits>

#include "gyre/core/cuda/attention/attention_tiles.h"
#include "gyre/core/cuda/vectors.h"

using namespace gyre;
using namespace gyre::cuda;

namespace {

uint16_t rounded_bits(float x) {
  bfloat16 to;
  store(&to, x);
  return to.bits;
}

float value_of(uint32_t bits) { return std::bit_cast<float>(bits << 16); }

}  // namespace

TEST_CASE("every bf16 number becomes the same float and rounds to itself") {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    CAPTURE(bits);
    bfloat16 x;
    x.bits = uint16_t(bits);
    const float loaded = load(&x);
    REQUIRE(std::bit_cast<uint32_t>(loaded) == bits << 16);
    const bool is_nan = std::isnan(loaded);
    REQUIRE(rounded_bits(loaded) == (is_nan ? 0x7FFF : bits));
    Pack<bfloat16> pack{};
    pack.set(5, x);
    REQUIRE(std::bit_cast<uint32_t>(pack[5]) == bits << 16);
    REQUIRE(pack[4] == 0);
  }
}

TEST_CASE("every bf16 number goes through packs and pairs without a change") {
  constexpr uint32_t kPack = kPackSize<bfloat16>;
  for (uint32_t first = 0; first <= 0xFFFF; first += kPack) {
    CAPTURE(first);
    alignas(16) bfloat16 from[kPack], to[2][kPack];
    for (uint32_t i = 0; i < kPack; ++i) from[i].bits = uint16_t(first + i);
    for (const bool aligned : {false, true}) {
      float numbers[kPack];
      load_numbers(numbers, from, kPack, aligned);
      store_numbers(to[0], numbers, kPack, aligned);
      store_pack(to[1], load_pack(from, kPack, aligned), kPack, aligned);
      for (uint32_t i = 0; i < kPack; ++i) {
        const uint32_t bits = first + i;
        REQUIRE(std::bit_cast<uint32_t>(numbers[i]) == bits << 16);
        const bool is_nan = std::isnan(numbers[i]);
        REQUIRE(to[0][i].bits == (is_nan ? 0x7FFF : bits));
        REQUIRE(to[1][i].bits == (is_nan && !aligned ? 0x7FFF : bits));
        const uint32_t pair = pack_bf16(numbers[i], 1);
        REQUIRE((pair >> 16) == 0x3F80);
        REQUIRE(std::isnan(value_of(pair & 0xFFFF)) == is_nan);
        if (!is_nan) REQUIRE((pair & 0xFFFF) == bits);
      }
    }
  }
}

TEST_CASE("floats between two bf16 numbers round to the nearest one, ties to the even one") {
  for (uint32_t bits = 0; bits < 0xFF7F; ++bits) {
    if ((bits & 0x7FFF) >= 0x7F80) continue;  // infinity and NaN
    CAPTURE(bits);
    const uint32_t low = bits << 16;
    REQUIRE(rounded_bits(std::bit_cast<float>(low | 0x7FFF)) == bits);
    REQUIRE(rounded_bits(std::bit_cast<float>(low | 0x8000)) == bits + bits % 2);
    REQUIRE(rounded_bits(std::bit_cast<float>(low | 0x8001)) == bits + 1);
  }
  CHECK(rounded_bits(std::numeric_limits<float>::max()) == 0x7F80);
  CHECK(rounded_bits(value_of(0xFF80)) == 0xFF80);
}

TEST_CASE("the conversions of kernels on GPUs and CPUs have the same bits") {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    for (const uint32_t rest : {0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF}) {
      const float x = std::bit_cast<float>(bits << 16 | rest);
      if (std::isnan(x)) continue;
      const uint32_t expected = bfloat16(x).bits, one = 0x3F80;
      REQUIRE(rounded_bits(x) == expected);
      REQUIRE(pack_bf16(x, 1) == (one << 16 | expected));
      REQUIRE(pack_bf16(1, x) == (expected << 16 | one));
    }
  }
}

TEST_CASE("powers of two below the smallest normal number are 0") {
  CHECK(fast_exp2(3) == 8);
  CHECK(fast_exp2(-126) == 0x1p-126f);
  CHECK(fast_exp2(-126.5f) == 0);
  CHECK(fast_exp2(-std::numeric_limits<float>::infinity()) == 0);
}
