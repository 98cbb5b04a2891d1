// Barriers and warp operations that some threads miss are reported; missing ones give wrong results.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "tests/cuda_emulation/emulator/small_kernels.h"
#include "tests/cuda_emulation/report.h"

using namespace cuda_emulation;

namespace {

constexpr int kThreads = 128;

// Reverses the numbers of a block by way of shared memory.
__global__ void reverse(float* to, const float* from, bool with_barrier) {
  __shared__ float numbers[kThreads];
  numbers[threadIdx.x] = from[threadIdx.x];
  if (with_barrier) __syncthreads();
  to[threadIdx.x] = numbers[kThreads - 1 - threadIdx.x];
}

__global__ void return_before_barrier(unsigned returning) {
  if (threadIdx.x >= returning) return;
  __syncthreads();
}

__global__ void two_barriers(unsigned first) {
  if (threadIdx.x < first) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void sum_of_lanes(float* to, unsigned lanes) {
  float x = float(threadIdx.x);
  if (threadIdx.x >= lanes) return;
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xFFFFFFFF, x, step);
  *to = x;
}

__global__ void barrier_beside_shuffle(unsigned lanes) {
  if (threadIdx.x < lanes) {
    __shfl_sync(0xFFFFFFFF, 1, 0);
  } else {
    __syncthreads();
  }
}

// A warp exchanges numbers by way of shared memory.
__global__ void exchange_in_warp(float* to, bool with_barrier) {
  __shared__ float numbers[32];
  numbers[threadIdx.x] = float(threadIdx.x);
  if (with_barrier) __syncwarp();
  to[threadIdx.x] = numbers[threadIdx.x ^ 1];
}

std::vector<float> counted(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

}  // namespace

TEST_CASE("a missing barrier gives a wrong result, in every order of threads") {
  const DeviceArray<float> from(counted(kThreads));
  std::vector<float> reversed = counted(kThreads);
  std::reverse(reversed.begin(), reversed.end());
  for (uint64_t seed = 0; seed < 5; ++seed) {
    set_order_seed(seed);
    const DeviceArray<float> right(kThreads), wrong(kThreads);
    CHECK(mistake_in(reverse, 1, kThreads, 0, right.data(), from.data(), true) == "");
    CHECK(right.values() == reversed);
    CHECK(mistake_in(reverse, 1, kThreads, 0, wrong.data(), from.data(), false) == "");
    CHECK(wrong.values() != reversed);
  }
  set_order_seed(0);
}

TEST_CASE("a barrier that some threads miss is reported with kernel, block and thread") {
  CHECK(mistake_in(return_before_barrier, 2, kThreads, 0, kThreads) == "");
  const std::string mistake = mistake_in(return_before_barrier, 2, kThreads, 0, kThreads - 1);
  CHECK(mistake.starts_with("return_before_barrier, block (0, 0, 0), thread (127, 0, 0): diverged barrier"));
  CHECK(mistake.find("barrier_test.cpp:") != mistake.npos);
  CHECK(mistake_in(two_barriers, 1, kThreads, 0, 0) == "");
  CHECK(mistake_in(two_barriers, 1, kThreads, 0, 64).find("diverged barrier") != mistake.npos);
}

TEST_CASE("an operation that some lanes of a warp miss is reported") {
  const DeviceArray<float> sum(1);
  CHECK(mistake_in(sum_of_lanes, 1, 32, 0, sum.data(), 32) == "");
  CHECK(sum.values()[0] == 31 * 32 / 2);
  CHECK(mistake_in(sum_of_lanes, 1, 32, 0, sum.data(), 31).find("diverged warp") != std::string::npos);
  CHECK(mistake_in(sum_of_lanes, 1, 16, 0, sum.data(), 16).find("in a warp of 16 lanes") != std::string::npos);
  CHECK(mistake_in(barrier_beside_shuffle, 1, 64, 0, 32).find("diverged barrier") != std::string::npos);
  CHECK(mistake_in(barrier_beside_shuffle, 1, 64, 0, 31).find("waits at the barrier") != std::string::npos);
}

TEST_CASE("lanes that exchange numbers without a barrier of the warp get wrong ones") {
  const DeviceArray<float> right(32), wrong(32);
  CHECK(mistake_in(exchange_in_warp, 1, 32, 0, right.data(), true) == "");
  CHECK(right.values()[4] == 5);
  CHECK(mistake_in(exchange_in_warp, 1, 32, 0, wrong.data(), false) == "");
  CHECK(wrong.values()[4] != 5);
}
