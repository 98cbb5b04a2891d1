// Measured performance limits of the GPU: products of large matrices, and a copy between buffers larger than the
// caches. Each is the best of several runs after a warm-up run.
#include <algorithm>
#include <memory>

#include "gyre/core/cuda/dispatch.h"
#include "gyre/core/cuda/gemm/product.h"
#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/cuda/runtime/launch.h"
#include "gyre/core/hardware/cuda.h"

namespace gyre {
namespace cuda {
namespace {

struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

Event make_event() {
  cudaEvent_t event;
  check(cudaEventCreate(&event), "cudaEventCreate");
  return Event(event);
}

// Seconds of the fastest of five runs, after one warm-up run.
template <class F>
double fastest(Context& context, const F& run) {
  const Event start = make_event(), stop = make_event();
  double best = 0;
  for (int i = 0; i < 6; ++i) {
    check(cudaEventRecord(start.get(), context.stream()), "cudaEventRecord");
    run();
    check(cudaEventRecord(stop.get(), context.stream()), "cudaEventRecord");
    check(cudaEventSynchronize(stop.get()), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()), "cudaEventElapsedTime");
    if (i > 0) best = i == 1 ? milliseconds * 1e-3 : std::min(best, milliseconds * 1e-3);
  }
  return best;
}

// Fills with uniform numbers on [-1, 1), because the power of a product, and with it the clock, depends on the values.
template <class T>
__global__ void fill(T* to, int64_t n, uint64_t stream) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) store(to + i, float(random_u32(1, stream, uint64_t(i))) * 0x1p-31f - 1);
}

constexpr int64_t kSide = 8192;

Tensor random_matrix(Context& context, DType dtype, uint64_t stream) {
  const Tensor t = context.empty({kSide, kSide}, dtype);
  dispatch_data_type(t, [&]<class T>(T) {
    launch(fill<T>, dim3(unsigned(divide_up(t.size(), 256))), dim3(256), 0, context.stream(), t.data<T>(), t.size(),
           stream);
  });
  return t;
}

constexpr int kThreads = 256, kPacksOfThread = 4;

__global__ void copy(uint4* to, const uint4* from, int64_t packs) {
  const int64_t first = int64_t(blockIdx.x) * (kThreads * kPacksOfThread) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kPacksOfThread; ++i) {
    if (first + i * kThreads < packs) to[first + i * kThreads] = from[first + i * kThreads];
  }
}

// The size of each buffer: half a GiB, or less if memory is short.
size_t bytes_to_copy() {
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return std::clamp<size_t>(free / 4, size_t{16} << 20, size_t{512} << 20) / 256 * 256;
}

}  // namespace
}  // namespace cuda

double measure_cuda_products(int index, Precision precision) {
  cuda::Context& context = cuda::Context::of(index);
  const DType dtype = precision == Precision::bf16 ? DType::bf16 : DType::f32;
  const Tensor a = cuda::random_matrix(context, dtype, 0), b = cuda::random_matrix(context, dtype, 1), c = a.like();
  const double seconds = cuda::fastest(context, [&] {
    cuda::product(context, c, cuda::rows(a), cuda::rows(b), {.tf32 = precision == Precision::tf32});
  });
  const double side = cuda::kSide;
  return 2 * side * side * side / seconds;
}

double measure_cuda_bandwidth(int index) {
  cuda::Context& context = cuda::Context::of(index);
  const size_t bytes = cuda::bytes_to_copy();
  const std::shared_ptr<void> from = context.allocate(bytes), to = context.allocate(bytes);
  cuda::check(cudaMemsetAsync(from.get(), 1, bytes, context.stream()), "cudaMemsetAsync");
  const auto packs = int64_t(bytes / sizeof(uint4));
  const dim3 blocks(unsigned(cuda::divide_up(packs, cuda::kThreads * cuda::kPacksOfThread)));
  const double seconds = cuda::fastest(context, [&] {
    cuda::launch(cuda::copy, blocks, dim3(cuda::kThreads), 0, context.stream(), static_cast<uint4*>(to.get()),
                 static_cast<const uint4*>(from.get()), packs);
  });
  return 2 * double(bytes) / seconds;
}

}  // namespace gyre
