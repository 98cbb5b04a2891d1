#define GYRE_CPU_NAMESPACE cpu_test
#include "gyre/core/cpu/gemm/bf16_dot.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <span>

#include "gyre/core/cpu/gemm/bf16_dot_arm.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/random.h"
#include "tests/amx_in_scope.h"
#include "tests/emulated_bf16.h"

using namespace gyre;

namespace {

// Bit patterns. a and b are pairs of bf16, the second number in the upper half.
struct DotProduct {
  uint32_t sum, a, b, result;
};

// Results of VDPBF16PS on an AMD EPYC 9004 (Zen 4).
constexpr DotProduct kOfTheInstruction[] = {
    {0x3E08F0AF, 0x3D283EF6, 0xBE28BF19, 0xBE23FF51}, {0x40BB9643, 0x3FA14167, 0xBE353F97, 0x41B55F3D},
    {0xBCDD855C, 0x3E0D3D17, 0xBEDAC08E, 0xBE7F3DAC}, {0xBBC96E48, 0x3DDBC12A, 0x41F1C0EE, 0x42A47A32},
    {0x40386ADA, 0xC09BBFE6, 0x3E783E27, 0x3FB52B34}, {0xC0620444, 0x3D31C087, 0xC0C1BFFF, 0x409398CE},
    {0x4B800000, 0x3F803F80, 0x3F803F80, 0x4B800000},  // 2^24 + 1 + 1: each of the two sums is rounded
    {0x7F000000, 0xFF003F80, 0x3F803F80, 0x3F800000},  // 2^127 - 2^127 + 1: the upper product is added first
    {0x00000000, 0x7F7F0000, 0x7F7F0000, 0x7F800000},  // overflow
    {0x3F800000, 0x00010000, 0x7F000000, 0x3F800000},  // subnormal operands are zero
    {0x007FFFFF, 0x00000000, 0x00000000, 0x00000000},  // a subnormal sum is zero
    {0x00000000, 0x1F800000, 0x20000000, 0x00000000},  // a subnormal result is zero
    {0x00800000, 0x9A000000, 0x19800000, 0x00800000},  // the least normal number - 2^-151: not subnormal when rounded
    {0x00800000, 0x9A200000, 0x19800000, 0x00000000},  // the least normal number - 1.25 x 2^-151
};

// Results of BFDOT in QEMU 7.2.
constexpr DotProduct kOfArm[] = {
    {0x3E08F0AF, 0x3D283EF6, 0xBE28BF19, 0xBE23FF51}, {0x40BB9643, 0x3FA14167, 0xBE353F97, 0x41B55F3D},
    {0xBCDD855C, 0x3E0D3D17, 0xBEDAC08E, 0xBE7F3DAB}, {0xBBC96E48, 0x3DDBC12A, 0x41F1C0EE, 0x42A47A33},
    {0x40386ADA, 0xC09BBFE6, 0x3E783E27, 0x3FB52B34}, {0xC0620444, 0x3D31C087, 0xC0C1BFFF, 0x409398CE},
    {0x4B800000, 0x3F803F80, 0x3F803F80, 0x4B800001},  // 2^24 + (1 + 1): the products are added first
    {0x4B800000, 0x3F800000, 0x3F800000, 0x4B800001},  // 2^24 + 1 is rounded to odd
    {0x4B800000, 0x2F800000, 0x3F800000, 0x4B800001},  // 2^24 + 2^-32 too
    {0x4B800000, 0xAF800000, 0x3F800000, 0x4B7FFFFF},  // and 2^24 - 2^-32
    {0x7F000000, 0xFF003F80, 0x3F803F80, 0x73000000},  // 2^127 + odd(1 - 2^127)
    {0x00000000, 0x7F7F0000, 0x7F7F0000, 0x7F800000},  // overflow
    {0x3F800000, 0x00010000, 0x7F000000, 0x3F800000},  // subnormal operands are zero
    {0x007FFFFF, 0x00000000, 0x00000000, 0x00000000},  // a subnormal sum is zero
    {0x00000000, 0x1F800000, 0x20000000, 0x00000000},  // a subnormal result is zero
    {0x00800000, 0x9A000000, 0x19800000, 0x00800000},  // a subnormal product is zero
};

// Random bit patterns, including subnormal numbers, infinities and NaN.
Tensor any_bf16(const Shape& shape, uint64_t stream) {
  const Tensor t = Tensor::empty(shape, DType::bf16);
  for (int64_t i = 0; i < t.size(); ++i) {
    t.data<bfloat16>()[i].bits = uint16_t(random_u32(3, stream, uint64_t(i)));
  }
  return t;
}

bool same_number(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

}  // namespace

TEST_CASE("the emulated dot products of bf16 are bit-identical to the instructions") {
  const auto check = [](auto add, std::span<const DotProduct> rows) {
    for (const DotProduct& row : rows) {
      CAPTURE(row.sum);
      CAPTURE(row.a);
      CAPTURE(row.b);
      CHECK(std::bit_cast<uint32_t>(add(std::bit_cast<float>(row.sum), row.a, row.b)) == row.result);
    }
    const float inf = std::bit_cast<float>(0x7F800000u);
    CHECK(std::isnan(add(0.0F, 0x7F80FF80, 0x3F803F80)));  // inf - inf
    CHECK(std::isnan(add(inf, 0xFF800000, 0x3F800000)));
  };
  check([](float sum, uint32_t a, uint32_t b) { return cpu_test::add_bf16_products(sum, a, b); }, kOfTheInstruction);
  check([](float sum, uint32_t a, uint32_t b) { return cpu_test::add_bf16_products_of_arm(sum, a, b); }, kOfArm);
}

// All kernels must give the same results for the same operands, even for bit patterns that do not occur in training.
TEST_CASE("products of bf16 are bit-identical with the instruction and emulated, on every instruction set") {
  for (const auto& [m, n, k] : {std::tuple(1, 1, 1), std::tuple(17, 35, 7), std::tuple(31, 67, 130)}) {
    const Tensor x = any_bf16({m, k}, 1), w = any_bf16({n, k}, 2).to(DType::f32);
    const auto product = [&](Kernels& kernels) {
      const Tensor y = Tensor::empty({m, n});
      kernels.linear(y, x, w, {});
      return y;
    };
    const Tensor expected = [&] {
      const EmulatedBf16 emulated;
      return product(*available_cpu_kernels().front());
    }();
    const auto check = [&](Kernels& kernels) {
      CAPTURE(kernels.name());
      CAPTURE(emulates_bf16());
      const Tensor y = product(kernels);
      int64_t different = 0;
      for (int64_t i = 0; i < y.size(); ++i) different += !same_number(y.data<float>()[i], expected.data<float>()[i]);
      CHECK(different == 0);
    };
    const AmxInScope without_amx(false);
    if (cpu_kernels().has_bf16()) check(cpu_kernels());
    const EmulatedBf16 emulated;
    for (Kernels* kernels : available_cpu_kernels()) check(*kernels);
  }
}
