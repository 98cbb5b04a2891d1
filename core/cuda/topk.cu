// The k largest values of each row, one block per row. Each thread keeps the best candidate of its columns. The block
// selects the best of all threads k times, and only the thread that it came from searches its columns again.
#include <limits>

#include "gyre/core/cuda/cuda_kernels.h"

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

// The best candidate after `last` among this thread's columns. Its column is kNone if there is none.
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

// The best candidate of the block, for all threads. `values` and `columns`: shared memory for one number per warp.
__device__ Candidate block_best(Candidate best, float* values, int32_t* columns) {
  const int lane = int(threadIdx.x) % kWarp, warp = int(threadIdx.x) / kWarp;
  best = warp_best(best);
  __syncthreads();  // all threads have read the results of an earlier call
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

void CudaKernels::topk(const Tensor& values, const Tensor& columns, const Tensor& x, int64_t also) {
  const Tensor found = context_.empty(values.shape(), DType::f32);
  const Tensor device_columns = context_.empty(columns.shape(), DType::i32);
  launch(largest_kernel, dim3(unsigned(x.rows())), dim3(kThreads), 0, context_.stream(), found.data<float>(),
         device_columns.data<int32_t>(), x.data<float>(), x.cols(), columns.cols(), also);
  values.copy_from(found);
  columns.copy_from(device_columns);
}

}  // namespace gyre::cuda
