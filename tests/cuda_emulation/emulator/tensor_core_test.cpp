// The tensor core functions of core/cuda/tensor_core.h, compared with plain products.
#include "gyre/core/cuda/tensor_core.h"

#include <doctest/doctest.h>

#include "gyre/core/cuda/vectors.h"
#include "tests/cuda_emulation/emulator/small_kernels.h"

using cuda_emulation::DeviceArray, cuda_emulation::mistake_in;
using namespace gyre;
using namespace gyre::cuda;

namespace {

// to(16, 8) = a(16, 16) b(16, 8). With `transposed`, b is stored as b(8, 16) and not transposed by ldmatrix.
__global__ void multiply(float* to, const bfloat16* a, const bfloat16* b, bool transposed, int shift) {
  auto* shared = shared_memory<bfloat16>() + shift;
  const int lane = int(threadIdx.x), g = lane / 4, t = lane % 4;
  for (int i = lane; i < 256; i += 32) shared[i] = a[i];
  for (int i = lane; i < 128; i += 32) shared[256 + i] = b[i];
  __syncwarp();
  uint32_t x[4], y[4];
  load_matrices(x, shared + lane % 16 * 16 + lane / 16 * 8);
  if (transposed) {
    load_matrices(y, shared + 256 + lane % 8 * 16 + lane / 8 % 2 * 8);
  } else {
    load_matrices_transposed(y, shared + 256 + lane % 16 * 8);
  }
  float sums[4] = {};
  mma_bf16(sums, x, {y[0], y[1]});
  for (int c = 0; c < 4; ++c) to[(g + c / 2 * 8) * 8 + 2 * t + c % 2] = sums[c];
}

std::vector<bfloat16> numbers(int n, int factor) {
  std::vector<bfloat16> values;
  for (int i = 0; i < n; ++i) values.emplace_back(float(i * factor % 17 - 8));
  return values;
}

}  // namespace

TEST_CASE("products of tensor cores are those of matrices") {
  const std::vector<bfloat16> a = numbers(256, 5), b = numbers(128, 7);
  const DeviceArray<bfloat16> device_a(a), device_b(b);
  for (const bool transposed : {false, true}) {
    const DeviceArray<float> to(128);
    CHECK(mistake_in(multiply, 1, 32, 1024, to.data(), device_a.data(), device_b.data(), transposed, 0) == "");
    for (size_t i = 0; i < 16; ++i) {
      for (size_t j = 0; j < 8; ++j) {
        float sum = 0;
        for (size_t k = 0; k < 16; ++k) sum += float(a[i * 16 + k]) * float(b[transposed ? j * 16 + k : k * 8 + j]);
        REQUIRE(to.values()[i * 8 + j] == sum);
      }
    }
  }
}

TEST_CASE("misaligned rows of matrices, and rows outside of shared memory, are reported") {
  const DeviceArray<bfloat16> a(numbers(256, 1)), b(numbers(128, 1));
  const DeviceArray<float> to(128);
  const auto mistake = [&](size_t shared, int shift) {
    return mistake_in(multiply, 1, 32, shared, to.data(), a.data(), b.data(), false, shift);
  };
  CHECK(mistake(1024, 8) == "");
  CHECK(mistake(1024, 4).find("ldmatrix: a row is not aligned") != std::string::npos);
  CHECK(mistake(512, 0).find("ldmatrix: a row is outside") != std::string::npos);
}
