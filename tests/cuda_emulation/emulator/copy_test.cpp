// Asynchronous copies land when a thread waits for them, and the kernel must wait for all.
#include <doctest/doctest.h>

#include "gyre/core/cuda/tensor_core.h"
#include "tests/cuda_emulation/emulator/small_kernels.h"

using cuda_emulation::DeviceArray, cuda_emulation::mistake_in;
using namespace gyre::cuda;

namespace {

constexpr int kSteps = 4, kCopyThreads = 32;

// Sums numbers in steps; the copy of a step runs while the previous one is summed.
template <int pending>
__global__ void pipeline(float* sums, const float* from, bool commit) {
  auto* tiles = shared_memory<float>();
  const auto load = [&](int step) {
    copy_async(tiles + (step % 2 * kCopyThreads + threadIdx.x) * 4, from + (step * kCopyThreads + threadIdx.x) * 4,
               true);
    if (commit) commit_copies();
  };
  float sum = 0;
  load(0);
  for (int step = 0; step < kSteps; ++step) {
    if (step + 1 < kSteps) load(step + 1);
    if (step + 1 < kSteps) wait_copies<pending>();
    if (step + 1 == kSteps) wait_copies<0>();
    __syncthreads();
    sum += tiles[(step % 2 * kCopyThreads + (threadIdx.x ^ 1)) * 4];
    __syncthreads();
  }
  sums[threadIdx.x] = sum;
}

__global__ void copy_without_wait(const float* from) {
  copy_async(shared_memory<float>() + 4 * threadIdx.x, from, true);
  commit_copies();
}

// Copies 16 bytes to `offset` bytes behind the start of shared memory, or zeros if not `inside`.
__global__ void copy_to_offset(float* to, const float* from, int offset, bool inside) {
  auto* shared = shared_memory<char>();
  copy_async(shared + offset, from, inside);
  commit_copies();
  wait_copies<0>();
  *to = *reinterpret_cast<float*>(shared + offset);
}

constexpr size_t kTiles = 2 * kCopyThreads * 4 * sizeof(float);

}  // namespace

TEST_CASE("a wait for one group of copies too few gives a wrong result") {
  const DeviceArray<float> ones(std::vector<float>(kSteps * kCopyThreads * 4, 1)), right(kCopyThreads),
      wrong(kCopyThreads);
  CHECK(mistake_in(pipeline<1>, 1, kCopyThreads, kTiles, right.data(), ones.data(), true) == "");
  CHECK(right.values() == std::vector<float>(kCopyThreads, kSteps));
  CHECK(mistake_in(pipeline<2>, 1, kCopyThreads, kTiles, wrong.data(), ones.data(), true) == "");
  CHECK(wrong.values() != std::vector<float>(kCopyThreads, kSteps));
}

TEST_CASE("copies that are not committed or not awaited are reported") {
  const DeviceArray<float> ones(std::vector<float>(kSteps * kCopyThreads * 4, 1)), sums(kCopyThreads);
  CHECK(mistake_in(pipeline<1>, 1, kCopyThreads, kTiles, sums.data(), ones.data(), false).find("not committed") !=
        std::string::npos);
  CHECK(mistake_in(copy_without_wait, 1, kCopyThreads, kTiles, ones.data()).find("without waiting") !=
        std::string::npos);
}

TEST_CASE("copies check their addresses, and fill with zeros") {
  const DeviceArray<float> ones(std::vector<float>(8, 1)), to(1);
  CHECK(mistake_in(copy_to_offset, 1, 1, 64, to.data(), ones.data(), 48, true) == "");
  CHECK(to.values()[0] == 1);
  CHECK(mistake_in(copy_to_offset, 1, 1, 64, to.data(), ones.data(), 48, false) == "");
  CHECK(to.values()[0] == 0);
  CHECK(mistake_in(copy_to_offset, 1, 1, 64, to.data(), ones.data(), 40, true).find("aligned") != std::string::npos);
  CHECK(mistake_in(copy_to_offset, 1, 1, 64, to.data(), ones.data() + 1, 48, true).find("aligned") !=
        std::string::npos);
  CHECK(mistake_in(copy_to_offset, 1, 1, 64, to.data(), ones.data(), 64, true).find("outside") != std::string::npos);
}
