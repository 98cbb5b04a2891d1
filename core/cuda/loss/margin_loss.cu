// loss = sum over pairs of max(0, margin - a + b)
#include "gyre/core/cuda/cuda_kernels.h"

namespace gyre::cuda {
namespace {

constexpr unsigned kThreads = 256;

template <class T>
__device__ double loss_of(const T* pair, double margin) {
  return margin - double(load(pair)) + double(load(pair + 1));
}

// Runs as one block, so that the order of the sum is fixed. A batch has few pairs.
template <class T>
__global__ void add_losses(double* sums, const T* x, int64_t n, double margin) {
  __shared__ double scratch[kWarp];
  double total = 0, correct = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    const double loss = loss_of(x + 2 * i, margin);
    if (!(loss <= 0)) total += loss;  // NaN is added
    correct += load(x + 2 * i) > load(x + 2 * i + 1) ? 1 : 0;
  }
  total = block_sum(total, scratch);
  correct = block_sum(correct, scratch);
  if (threadIdx.x != 0) return;
  sums[0] += total;
  sums[1] += total;
  sums[2] += double(n);
  sums[3] += correct;
}

template <class T, class C = Compute<T>>
__global__ void slopes(T* dx, const T* x, int64_t n, double margin, C dloss) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const C slope = loss_of(x + 2 * i, margin) > 0 ? dloss : C(0);
  store(dx + 2 * i, -slope);
  store(dx + 2 * i + 1, slope);
}

}  // namespace

void CudaKernels::margin_loss(const Tensor& sums, const Tensor& scores, double margin) {
  dispatch_data_type(scores, [&]<class T>(T) {
    launch(add_losses<T>, dim3(1), dim3(kThreads), 0, context_.stream(), sums.data<double>(), scores.data<T>(),
           scores.size() / 2, margin);
  });
}

void CudaKernels::margin_loss_backward(const Tensor& dscores, const Tensor& scores, double margin, double dloss) {
  dispatch_data_type(scores, [&]<class T>(T) {
    const int64_t n = scores.size() / 2;
    launch(slopes<T>, dim3(unsigned(divide_up(n, int64_t{kThreads}))), dim3(kThreads), 0, context_.stream(),
           dscores.data<T>(), scores.data<T>(), n, margin, Compute<T>(dloss));
  });
}

}  // namespace gyre::cuda
