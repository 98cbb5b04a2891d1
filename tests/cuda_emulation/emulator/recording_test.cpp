// The record of work: launches, the bytes that kernels, copies and products access, and waits.
#include "tests/cuda_emulation/accesses/recording.h"

#include <cublasLt.h>
#include <doctest/doctest.h>

#include "gyre/core/cuda/tensor_core.h"
#include "gyre/core/cuda/vectors.h"
#include "tests/cuda_emulation/emulator/small_kernels.h"

using cuda_emulation::DeviceArray, cuda_emulation::mistake_in, cuda_emulation::new_stream;
using cuda_emulation::Recording, cuda_emulation::RecordedWork, cuda_emulation::WorkKind;
using namespace gyre::cuda;

namespace {

constexpr int kThreads = 32;

// Reads `from` twice, and reads and writes every second number of `to`.
__global__ void add_to_even(float* to, const float* from) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  const float x = from[i];
  __syncthreads();
  if (i % 2 == 0) to[i] += x + from[i];
}

// Each thread copies 16 bytes by way of shared memory. Static and dynamic shared memory does not count.
__global__ void copy_by_shared(float* to, const float* from) {
  __shared__ int ids[kThreads];
  auto* tiles = shared_memory<float>();
  ids[threadIdx.x] = int(4 * threadIdx.x);
  copy_async(tiles + ids[threadIdx.x], from + ids[threadIdx.x], true);
  commit_copies();
  wait_copies<0>();
  store_pack(to + ids[threadIdx.x], load_pack(tiles + ids[threadIdx.x], 4, true), 4, true);
}

__global__ void copy_structure(double* to, const double* from, int n) {
  struct Rows {
    double numbers[20];
  };
  for (int i = 0; i + 20 <= n; i += 20) *reinterpret_cast<Rows*>(to + i) = *reinterpret_cast<const Rows*>(from + i);
}

__global__ void read_at(float* to, const float* from, int i) { *to = from[i]; }

template <class F>
Recording recording_of(const F& f) {
  cuda_emulation::start_recording();
  f();
  return cuda_emulation::stop_recording();
}

void check_bytes(const RecordedWork& work, const std::string& name, size_t read, size_t written) {
  CHECK(work.name == name);
  CHECK(work.bytes_read == read);
  CHECK(work.bytes_written == written);
}

// Queues d(m, n) = a(m, k) b(k, n) + beta d in fp32, with a bias if it is not null.
void queue_product(cudaStream_t stream, float* d, const float* a, const float* b, const float* bias, float beta,
                   uint64_t m, uint64_t n, uint64_t k) {
  const float one = 1;
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
  cublasLtMatmulDescOpaque_t description;
  cublasLtMatrixLayoutOpaque_t layout_a, layout_b, layout_d;
  cublasLtMatmulDescInit(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  if (bias) {
    cublasLtMatmulDescSetAttribute(&description, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
    cublasLtMatmulDescSetAttribute(&description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias));
  }
  cublasLtMatrixLayoutInit(&layout_a, CUDA_R_32F, m, k, int64_t(m));
  cublasLtMatrixLayoutInit(&layout_b, CUDA_R_32F, k, n, int64_t(k));
  cublasLtMatrixLayoutInit(&layout_d, CUDA_R_32F, m, n, int64_t(m));
  cublasLtMatmulPreferenceOpaque_t preference;
  cublasLtMatmulPreferenceInit(&preference);
  for (int operand = 0; operand < 4; ++operand) {
    const auto which = cublasLtMatmulPreferenceAttributes_t(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + operand);
    const uint32_t alignment = sizeof(float);
    cublasLtMatmulPreferenceSetAttribute(&preference, which, &alignment, sizeof(alignment));
  }
  cublasLtMatmulHeuristicResult_t chosen;
  int found = 0;
  REQUIRE(cublasLtMatmulAlgoGetHeuristic(nullptr, &description, &layout_a, &layout_b, &layout_d, &layout_d, &preference,
                                         1, &chosen, &found) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatmul(nullptr, &description, &one, a, &layout_a, b, &layout_b, &beta, d, &layout_d, d, &layout_d,
                         &chosen.algo, nullptr, 0, stream) == CUBLAS_STATUS_SUCCESS);
}

}  // namespace

TEST_CASE("a launch counts each byte of device memory once for reading and once for writing") {
  const DeviceArray<float> from(std::vector<float>(3 * kThreads, 1)), to(std::vector<float>(3 * kThreads, 1));
  const Recording recording = recording_of([&] {
    for (const int blocks : {1, 3}) CHECK(mistake_in(add_to_even, blocks, kThreads, 0, to.data(), from.data()) == "");
  });
  REQUIRE(recording.work.size() == 2);
  check_bytes(recording.work[0], "add_to_even", 4 * kThreads + 4 * kThreads / 2, 4 * kThreads / 2);
  check_bytes(recording.work[1], "add_to_even", 3 * 6 * kThreads, 3 * 2 * kThreads);
  CHECK(recording.launches() == 2);
  CHECK(recording.bytes_read() == 4 * 6 * kThreads);
  CHECK(recording.bytes_written() == 4 * 2 * kThreads);
}

TEST_CASE("asynchronous copies, vectors and structures count, shared memory does not") {
  const DeviceArray<float> from(std::vector<float>(4 * kThreads, 1)), to(4 * kThreads);
  const DeviceArray<double> rows(std::vector<double>(1010, 1)), copy(1010);
  const Recording recording = recording_of([&] {
    CHECK(mistake_in(copy_by_shared, 1, kThreads, 16 * kThreads, to.data(), from.data()) == "");
    CHECK(mistake_in(copy_structure, 1, 1, 0, copy.data() + 3, rows.data() + 5, 1000) == "");
  });
  REQUIRE(recording.work.size() == 2);
  check_bytes(recording.work[0], "copy_by_shared", 16 * kThreads, 16 * kThreads);
  check_bytes(recording.work[1], "copy_structure", 8 * 1000, 8 * 1000);
  CHECK(to.values() == from.values());
}

TEST_CASE("copies, memsets and products count their operands") {
  const cudaStream_t stream = new_stream();
  const DeviceArray<float> a(std::vector<float>(6, 1)), b(std::vector<float>(8, 1)), d(12), bias(3);
  std::vector<float> host(12);
  const Recording recording = recording_of([&] {
    REQUIRE(cudaMemsetAsync(bias.data(), 0, 12, stream) == cudaSuccess);
    queue_product(stream, d.data(), a.data(), b.data(), nullptr, 0, 3, 4, 2);
    queue_product(stream, d.data(), a.data(), b.data(), bias.data(), 1, 3, 4, 2);
    REQUIRE(cudaMemcpyAsync(a.data(), d.data(), 20, cudaMemcpyDeviceToDevice, stream) == cudaSuccess);
    REQUIRE(cudaMemcpyAsync(host.data(), d.data(), 48, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
    REQUIRE(cudaMemcpyAsync(d.data(), host.data(), 16, cudaMemcpyHostToDevice, stream) == cudaSuccess);
  });
  CHECK(host == std::vector<float>(12, 4));
  REQUIRE(recording.work.size() == 6);
  check_bytes(recording.work[0], "memset", 0, 12);
  check_bytes(recording.work[1], "cublasLtMatmul", 4 * (6 + 8), 48);
  check_bytes(recording.work[2], "cublasLtMatmul", 4 * (6 + 8 + 12 + 3), 48);
  check_bytes(recording.work[3], "copy", 20, 20);
  check_bytes(recording.work[4], "copy to host", 48, 0);
  check_bytes(recording.work[5], "copy to device", 0, 16);
  CHECK(recording.launches() == 2);
  CHECK(recording.count(WorkKind::copy) == 3);
}

TEST_CASE("waits are counted, and those for the last kernel as drains") {
  const DeviceArray<float> one(std::vector<float>{1}), to(1);
  const cudaStream_t compute = new_stream(), copies = new_stream();
  void* pinned = nullptr;
  cudaEvent_t event;
  REQUIRE(cudaMallocHost(&pinned, sizeof(float)) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
  const auto add = [&] { launch(add_to_even, 1, 1, 0, compute, to.data(), one.data()); };
  const auto check = [&](size_t waits, size_t drains, const auto& f) {
    const Recording recording = recording_of(f);
    CHECK(recording.waits == waits);
    CHECK(recording.drains == drains);
  };
  check(0, 0, add);
  check(2, 1, [&] {  // the second one has nothing to wait for
    for (int i = 0; i < 2; ++i) REQUIRE(cudaStreamSynchronize(compute) == cudaSuccess);
  });
  check(1, 0, [&] {  // a kernel is queued behind the event
    add();
    REQUIRE(cudaEventRecord(event, compute) == cudaSuccess);
    add();
    REQUIRE(cudaEventSynchronize(event) == cudaSuccess);
  });
  check(2, 1, [&] {  // the copy waits for the kernel
    add();
    REQUIRE(cudaStreamSynchronize(copies) == cudaSuccess);
    REQUIRE(cudaEventRecord(event, compute) == cudaSuccess);
    REQUIRE(cudaStreamWaitEvent(copies, event) == cudaSuccess);
    REQUIRE(cudaMemcpyAsync(pinned, to.data(), 4, cudaMemcpyDeviceToHost, copies) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(copies) == cudaSuccess);
  });
  float pageable = 0;
  check(2, 1, [&] {
    add();
    REQUIRE(cudaMemcpyAsync(&pageable, to.data(), 4, cudaMemcpyDeviceToHost, compute) == cudaSuccess);
    REQUIRE(cudaMemcpyAsync(to.data(), &pageable, 4, cudaMemcpyHostToDevice, compute) == cudaSuccess);
  });
  CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
}

TEST_CASE("accesses outside of allocated memory are reported") {
  const DeviceArray<float> from(std::vector<float>{1, 2}), to(1);
  CHECK(mistake_in(read_at, 1, 1, 0, to.data(), from.data(), 1) == "");
  CHECK(mistake_in(read_at, 1, 1, 0, to.data(), from.data(), 2).find("reads 4 bytes outside") != std::string::npos);
  CHECK(mistake_in(read_at, 1, 1, 0, to.data(), from.data(), -1).find("reads 4 bytes outside") != std::string::npos);
  CHECK(mistake_in(read_at, 1, 1, 0, to.data() + 1, from.data(), 0).find("writes 4 bytes outside") !=
        std::string::npos);
}
