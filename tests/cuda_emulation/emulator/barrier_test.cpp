// Barriers and warp operations that some threads miss are reported, and races on shared memory without them.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "tests/cuda_emulation/accesses/shared_races.h"
#include "tests/cuda_emulation/emulator/small_kernels.h"
#include "tests/cuda_emulation/report.h"

extern "C" [[gnu::weak]] void __asan_init();  // defined only in builds with AddressSanitizer, which knows lines

using cuda_emulation::DeviceArray, cuda_emulation::mistake_in, cuda_emulation::set_order_seed;

namespace {

constexpr int kBarrierThreads = 128;

// Reverses the numbers of a block by way of shared memory.
__global__ void reverse(float* to, const float* from, bool with_barrier) {
  __shared__ float numbers[kBarrierThreads];
  numbers[threadIdx.x] = from[threadIdx.x];
  if (with_barrier) __syncthreads();
  to[threadIdx.x] = numbers[kBarrierThreads - 1 - threadIdx.x];
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

// Thread 0 overwrites a number that others read, with the same number.
__global__ void overwrite_after_reading(float* to, bool with_barrier) {
  __shared__ float number;
  if (threadIdx.x == 0) number = 1;
  for (int round = 0; round < 2; ++round) {
    __syncthreads();
    to[blockIdx.x * kBarrierThreads + threadIdx.x] = number;
    if (with_barrier || round == 1) __syncthreads();
    if (threadIdx.x == 0) number = 1;
  }
}

enum class Between { barrier_of_warp, barrier_of_block, shuffle };

// Each thread reads the number of the next one.
__global__ void read_neighbor(float* to, Between between) {
  __shared__ float numbers[64];
  numbers[threadIdx.x] = float(threadIdx.x);
  if (between == Between::barrier_of_warp) __syncwarp();
  if (between == Between::barrier_of_block) __syncthreads();
  if (between == Between::shuffle) __shfl_sync(0xFFFFFFFF, 0, 0);
  to[threadIdx.x] = numbers[(threadIdx.x + 1) % blockDim.x];
}

__global__ void share_number(float* to, unsigned writers) {
  __shared__ float number;
  if (threadIdx.x < writers) number = 1;
  __syncthreads();
  to[threadIdx.x] = number;
}

// Of these bytes the first half is added to shared memory.
alignas(uint64_t) std::byte half_shared[sizeof(uint64_t)];

// Thread 0 writes all bytes, and the others read the second half.
__global__ void write_behind_shared(uint32_t* to) {
  if (threadIdx.x == 0) {
    *reinterpret_cast<uint64_t*>(half_shared) = 7;
  } else {
    to[threadIdx.x] = reinterpret_cast<const uint32_t*>(half_shared)[1];
  }
}

bool is_race(const std::string& mistake) { return mistake.find("race on shared memory") != mistake.npos; }

std::vector<float> counted(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

}  // namespace

TEST_CASE("a missing barrier is reported as a race, in every order of threads") {
  const DeviceArray<float> from(counted(kBarrierThreads));
  std::vector<float> reversed = counted(kBarrierThreads);
  std::reverse(reversed.begin(), reversed.end());
  for (uint64_t seed = 0; seed < 5; ++seed) {
    set_order_seed(seed);
    const DeviceArray<float> to(kBarrierThreads);
    CHECK(mistake_in(reverse, 1, kBarrierThreads, 0, to.data(), from.data(), true) == "");
    CHECK(to.values() == reversed);
    CHECK(is_race(mistake_in(reverse, 1, kBarrierThreads, 0, to.data(), from.data(), false)));
  }
  set_order_seed(0);
}

TEST_CASE("a barrier that some threads miss is reported with kernel, block and thread") {
  CHECK(mistake_in(return_before_barrier, 2, kBarrierThreads, 0, kBarrierThreads) == "");
  const std::string mistake = mistake_in(return_before_barrier, 2, kBarrierThreads, 0, kBarrierThreads - 1);
  CHECK(mistake.starts_with("return_before_barrier, block (0, 0, 0), thread (127, 0, 0): diverged barrier"));
  CHECK(mistake.find("barrier_test.cpp:") != mistake.npos);
  CHECK(mistake_in(two_barriers, 1, kBarrierThreads, 0, 0) == "");
  CHECK(mistake_in(two_barriers, 1, kBarrierThreads, 0, 64).find("diverged barrier") != mistake.npos);
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

TEST_CASE("lanes that exchange numbers without a barrier of the warp are reported as a race") {
  const DeviceArray<float> to(32);
  CHECK(mistake_in(exchange_in_warp, 1, 32, 0, to.data(), true) == "");
  CHECK(to.values()[4] == 5);
  CHECK(is_race(mistake_in(exchange_in_warp, 1, 32, 0, to.data(), false)));
}

TEST_CASE("a race that gives the right result in the order of the threads is reported with its line") {
  const DeviceArray<float> to(2 * kBarrierThreads);
  CHECK(mistake_in(overwrite_after_reading, 2, kBarrierThreads, 0, to.data(), true) == "");
  const std::string mistake = mistake_in(overwrite_after_reading, 2, kBarrierThreads, 0, to.data(), false);
  CHECK(
      mistake.starts_with("overwrite_after_reading, block (0, 0, 0), thread (1, 0, 0): race on shared memory: this "
                          "thread reads"));
  CHECK(mistake.find("a byte that thread (0, 0, 0) has written") != mistake.npos);
  if (__asan_init) CHECK(mistake.find(" at barrier_test.cpp:") != mistake.npos);
}

TEST_CASE("a barrier of a warp orders the accesses of its lanes only, and a shuffle orders none") {
  const DeviceArray<float> to(64);
  CHECK(mistake_in(read_neighbor, 1, 32, 0, to.data(), Between::barrier_of_warp) == "");
  CHECK(mistake_in(read_neighbor, 1, 64, 0, to.data(), Between::barrier_of_block) == "");
  CHECK(is_race(mistake_in(read_neighbor, 1, 64, 0, to.data(), Between::barrier_of_warp)));
  CHECK(is_race(mistake_in(read_neighbor, 1, 32, 0, to.data(), Between::shuffle)));
}

TEST_CASE("threads that write the same bytes are reported as a race, and those that read them are not") {
  const DeviceArray<float> to(kBarrierThreads);
  CHECK(mistake_in(share_number, 1, kBarrierThreads, 0, to.data(), 1U) == "");
  const std::string mistake = mistake_in(share_number, 1, kBarrierThreads, 0, to.data(), 2U);
  CHECK(mistake.find("a byte that thread (0, 0, 0) has written") != mistake.npos);
}

TEST_CASE("bytes behind shared memory do not take part in races, also if an access begins before them") {
  cuda_emulation::add_shared_memory(half_shared, sizeof(half_shared) / 2);
  const DeviceArray<uint32_t> to(32);
  CHECK(mistake_in(write_behind_shared, 1, 32, 0, to.data()) == "");
}
