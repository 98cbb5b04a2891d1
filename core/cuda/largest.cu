// The k largest of each row. A block takes a row: each thread knows the best of its own columns, the block's best of
// those is the row's, and only the thread that it came from looks through its columns again.
#include <limits>

#include "core/cuda/cuda_kernels.h"

namespace gyre::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int32_t kNone = std::numeric_limits<int32_t>::max();

struct Candidate {
  float value = -std::numeric_limits<float>::infinity();
  int32_t column = kNone;

  __device__ bool before(const Candidate& other) const {
    return value > other.value || (value == other.value && column < other.column);
  }
};

// The best of this thread's columns that come after `last`; none after the last one.
__device__ Candidate best_after(const float* x, int64_t v, const Candidate& last) {
  Candidate best;
  for (int64_t j = threadIdx.x; j < v; j += kThreads) {
    const Candidate here{x[j], int32_t(j)};
    if (here.value > -std::numeric_limits<float>::infinity() && last.before(here) && here.before(best)) best = here;
  }
  return best;
}

__device__ Candidate warp_best(Candidate best) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const Candidate other{__shfl_xor_sync(0xFFFFFFFF, best.value, step),
                          __shfl_xor_sync(0xFFFFFFFF, best.column, step)};
    if (other.before(best)) best = other;
  }
  return best;
}

// The same on each thread. `values` and `columns`: shared memory for a number a warp.
__device__ Candidate block_best(Candidate best, float* values, int32_t* columns) {
  const int lane = int(threadIdx.x) % kWarp, warp = int(threadIdx.x) / kWarp;
  best = warp_best(best);
  __syncthreads();  // what an earlier call left has been read
  if (lane == 0) {
    values[warp] = best.value;
    columns[warp] = best.column;
  }
  __syncthreads();
  best = Candidate{};
  if (lane < kThreads / kWarp) best = {values[lane], columns[lane]};
  return warp_best(best);
}

__global__ void __launch_bounds__(kThreads)
    largest_kernel(float* values, int32_t* columns, const float* x, int64_t v, int64_t k, int64_t also) {
  __shared__ float of_warps[kThreads / kWarp];
  __shared__ int32_t columns_of_warps[kThreads / kWarp];
  const int64_t row = blockIdx.x;
  x += row * v;
  values += row * (k + 1);
  columns += row * k;
  Candidate own = best_after(x, v, {std::numeric_limits<float>::infinity(), -1});
  for (int64_t i = 0; i < k; ++i) {
    const Candidate best = block_best(own, of_warps, columns_of_warps);
    if (best.column != kNone && best.column == own.column) own = best_after(x, v, best);
    if (threadIdx.x != 0) continue;
    values[i] = best.value;
    columns[i] = best.column == kNone ? -1 : best.column;
  }
  if (threadIdx.x == 0) values[k] = x[also];
}

}  // namespace

void CudaKernels::largest(const Tensor& values, const Tensor& columns, const Tensor& x, int64_t also) {
  const Tensor found = context_.empty(values.shape(), DType::f32);
  const Tensor places = context_.empty(columns.shape(), DType::i32);
  launch(largest_kernel, dim3(unsigned(x.rows())), dim3(kThreads), 0, context_.stream(), found.data<float>(),
         places.data<int32_t>(), x.data<float>(), x.cols(), columns.cols(), also);
  values.copy_from(found);
  columns.copy_from(places);
}

}  // namespace gyre::cuda
