// Work of different streams runs in any order that events allow, and pinned memory is read late.
#include <doctest/doctest.h>

#include "tests/cuda_emulation/emulator/small_kernels.h"
#include "tests/cuda_emulation/report.h"

using cuda_emulation::DeviceArray, cuda_emulation::mistake_on, cuda_emulation::new_stream,
    cuda_emulation::set_order_seed;

namespace {

constexpr uint64_t kSeeds = 20;

__global__ void add(float* to, const float* from, float x) { *to = *from + x; }

// Computes 2 on one stream and 3 from it on another, and counts the seeds with a wrong result.
int wrong_results(bool with_event) {
  const cudaStream_t first = new_stream(), second = new_stream();
  cudaEvent_t event;
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
  int wrong = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    set_order_seed(seed);
    const DeviceArray<float> one(std::vector<float>{1}), two(1), three(1);
    gyre::cuda::launch(add, 1, 1, 0, first, two.data(), one.data(), 1.0F);
    if (with_event) {
      REQUIRE(cudaEventRecord(event, first) == cudaSuccess);
      REQUIRE(cudaStreamWaitEvent(second, event) == cudaSuccess);
    }
    gyre::cuda::launch(add, 1, 1, 0, second, three.data(), two.data(), 1.0F);
    CHECK(mistake_on(second) == "");
    wrong += three.values()[0] != 3;
  }
  set_order_seed(0);
  CHECK(cudaEventDestroy(event) == cudaSuccess);
  return wrong;
}

// Sends two numbers through the same staging memory, and counts the seeds with a wrong result.
int wrong_uploads(float* staging, bool with_wait) {
  const cudaStream_t stream = new_stream(), other = new_stream();
  int wrong = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    set_order_seed(seed);
    const DeviceArray<float> to(2);
    for (int i = 0; i < 2; ++i) {
      *staging = float(i);
      REQUIRE(cudaMemcpyAsync(to.data() + i, staging, sizeof(float), cudaMemcpyHostToDevice, stream) == cudaSuccess);
      REQUIRE(cudaStreamSynchronize(with_wait ? stream : other) == cudaSuccess);
    }
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    wrong += to.values() != std::vector<float>{0, 1};
  }
  set_order_seed(0);
  return wrong;
}

}  // namespace

TEST_CASE("a missing event between streams gives wrong results") {
  CHECK(wrong_results(true) == 0);
  CHECK(wrong_results(false) > 0);
}

TEST_CASE("memory that another stream still uses gives wrong results when it is reused") {
  const cudaStream_t compute = new_stream(), copies = new_stream();
  int wrong = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    set_order_seed(seed);
    const DeviceArray<float> block(std::vector<float>{1}), sum(1);
    gyre::cuda::launch(add, 1, 1, 0, compute, sum.data(), block.data(), 1.0F);
    const float next = 7;  // pageable: read at the call
    REQUIRE(cudaMemcpyAsync(block.data(), &next, sizeof(next), cudaMemcpyHostToDevice, copies) == cudaSuccess);
    CHECK(mistake_on(compute) == "");
    wrong += sum.values()[0] != 2;
    REQUIRE(cudaStreamSynchronize(copies) == cudaSuccess);
  }
  set_order_seed(0);
  CHECK(wrong > 0);
}

TEST_CASE("pinned memory is read when the copy runs, pageable memory at the call") {
  void* pinned = nullptr;
  REQUIRE(cudaMallocHost(&pinned, sizeof(float)) == cudaSuccess);
  float pageable = 0;
  CHECK(wrong_uploads(static_cast<float*>(pinned), true) == 0);
  CHECK(wrong_uploads(static_cast<float*>(pinned), false) > 0);
  CHECK(wrong_uploads(&pageable, false) == 0);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
}

TEST_CASE("copies check that memory is on the side that they expect") {
  const cudaStream_t stream = new_stream();
  const DeviceArray<float> device(2);
  float host[2] = {};
  CHECK(cudaMemcpyAsync(device.data(), host, sizeof(host), cudaMemcpyHostToDevice, stream) == cudaSuccess);
  CHECK(cudaMemcpyAsync(device.data() + 1, host, sizeof(host), cudaMemcpyHostToDevice, stream) != cudaSuccess);
  CHECK(cudaMemcpyAsync(host, host, sizeof(host), cudaMemcpyDeviceToHost, stream) != cudaSuccess);
  CHECK(cudaMemsetAsync(host, 0, sizeof(host), stream) != cudaSuccess);
}

TEST_CASE("an event is ready when its stream has passed it") {
  const cudaStream_t stream = new_stream();
  cudaEvent_t event;
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaSuccess);  // never recorded
  REQUIRE(cudaEventRecord(event, stream) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaErrorNotReady);
  CHECK(cudaEventSynchronize(event) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaSuccess);
  CHECK(cudaEventDestroy(event) == cudaSuccess);
}
