// Shared memory is limited, and memory that nobody wrote holds NaN. Vector accesses must be aligned.
#include <doctest/doctest.h>

#include "gyre/core/cuda/vectors.h"
#include "tests/cuda_emulation/emulator/small_kernels.h"
#include "tests/errors.h"

using cuda_emulation::DeviceArray, cuda_emulation::mistake_in, cuda_emulation::new_stream;
using namespace gyre::cuda;

namespace {

constexpr size_t kStatic = 33 << 10, kLimit = 48 << 10;

__global__ void static_and_dynamic(int* to) {
  __shared__ char bytes[kStatic];
  bytes[threadIdx.x] = char(threadIdx.x);
  __syncthreads();
  shared_memory<char>()[threadIdx.x] = bytes[threadIdx.x];
  *to = 1;
}

__global__ void read_row(int* to, int column) {
  __shared__ int rows[2][4];
  rows[0][column % 4] = 0;
  *to = rows[0][column];
}

__global__ void write_dynamic(size_t index) { shared_memory<float>()[index] = 1; }

// Doubles the first n numbers. Without the guard the last thread also reads and writes behind them.
__global__ void twice(float* to, const float* from, int n, bool guarded) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (!guarded || i < n) to[i] = 2 * from[i];
}

__global__ void sum_of_shared(float* to, int written) {
  auto* numbers = shared_memory<float>();
  if (int(threadIdx.x) < written) numbers[threadIdx.x] = 1;
  __syncthreads();
  *to = block_sum(numbers[threadIdx.x], numbers + blockDim.x);
}

__global__ void copy_pack(float* to, const float* from) { store_pack(to, load_pack(from, 4, true), 4, true); }

// Launches without the help of launch(), which asks for shared memory.
cudaError_t launch_plainly(size_t shared, int* to) {
  cudaLaunchConfig_t config{};
  config.blockDim = 32;
  config.dynamicSmemBytes = shared;
  config.stream = new_stream();
  const cudaError_t status = cudaLaunchKernelEx(&config, static_and_dynamic, to);
  return status == cudaSuccess ? cudaStreamSynchronize(config.stream) : status;
}

}  // namespace

TEST_CASE("a launch that fails names the kernel") {
  CHECK(contains(error_of([] { launch(write_dynamic, dim3(1), dim3(2048), 0, new_stream(), size_t{0}); }),
                 "write_dynamic"));
}

TEST_CASE("static and dynamic shared memory together need permission above 48 KB") {
  const DeviceArray<int> to(1);
  CHECK(launch_plainly(kLimit - kStatic, to.data()) == cudaSuccess);
  CHECK(launch_plainly(kLimit - kStatic + 1, to.data()) == cudaErrorLaunchFailure);
  CHECK(std::string(cudaGetErrorString(cudaErrorLaunchFailure)).find("33792 of static") != std::string::npos);
  CHECK(launch_plainly(kLimit + 1, to.data()) == cudaErrorInvalidValue);
  CHECK(mistake_in(static_and_dynamic, 1, 32, 40 << 10, to.data()) == "");  // launch() asks
  CHECK_THROWS_AS(mistake_in(static_and_dynamic, 1, 32, 228 << 10, to.data()), gyre::Error);
  CHECK(mistake_in(static_and_dynamic, 1, 32, 200 << 10, to.data()).find("are allowed") != std::string::npos);
}

TEST_CASE("a write behind dynamic shared memory is reported") {
  CHECK(mistake_in(write_dynamic, 1, 1, 64, 15) == "");
  CHECK(mistake_in(write_dynamic, 1, 1, 64, 16).find("behind its dynamic shared memory") != std::string::npos);
}

TEST_CASE("launches of impossible sizes fail") {
  const DeviceArray<float> x(1);
  CHECK_THROWS_AS(mistake_in(twice, 1, 1025, 0, x.data(), x.data(), 0, true), gyre::Error);
  CHECK_THROWS_AS(mistake_in(twice, dim3(1, 65536), 1, 0, x.data(), x.data(), 0, true), gyre::Error);
}

TEST_CASE("an index outside of an array is reported, also if the address is in another one") {
  const DeviceArray<int> to(1);
  CHECK(mistake_in(read_row, 1, 1, 0, to.data(), 3) == "");
  CHECK(mistake_in(read_row, 1, 1, 0, to.data(), 4).find("index 4 is outside of the array, at memory_test.cpp:") !=
        std::string::npos);
}

TEST_CASE("a missing guard of the tail shows as NaN") {
  const DeviceArray<float> from(40), right(40), wrong(40);
  std::fill(from.data(), from.data() + 33, 1.0F);
  CHECK(mistake_in(twice, 2, 20, 0, right.data(), from.data(), 33, true) == "");
  CHECK(right.values()[32] == 2);
  CHECK(right.data()[33] != right.data()[33]);  // nobody wrote it
  CHECK(mistake_in(twice, 2, 20, 0, wrong.data(), from.data(), 33, false) == "");
  CHECK(std::isnan(wrong.values()[33]));
}

TEST_CASE("shared memory that nobody wrote is NaN in every block") {
  const DeviceArray<float> to(1);
  constexpr size_t kBytes = (64 + 32) * sizeof(float);
  CHECK(mistake_in(sum_of_shared, 2, 64, kBytes, to.data(), 64) == "");
  CHECK(to.values()[0] == 64);
  CHECK(mistake_in(sum_of_shared, 2, 64, kBytes, to.data(), 63) == "");
  CHECK(std::isnan(to.values()[0]));
}

TEST_CASE("misaligned vector loads and stores are reported") {
  const DeviceArray<float> numbers(std::vector<float>{1, 2, 3, 4, 5}), to(8);
  CHECK(mistake_in(copy_pack, 1, 1, 0, to.data(), numbers.data()) == "");
  CHECK(to.values()[3] == 4);
  CHECK(mistake_in(copy_pack, 1, 1, 0, to.data(), numbers.data() + 1).find("16 bytes") != std::string::npos);
  CHECK(mistake_in(copy_pack, 1, 1, 0, to.data() + 2, numbers.data()).find("16 bytes") != std::string::npos);
}
