// loss = sum over rows of (x - target)^2;  dx = 2 dloss (x - target)
#include "gyre/core/cuda/cuda_kernels.h"

namespace gyre::cuda {
namespace {

constexpr unsigned kThreads = 256;

// Runs as one block, so that the order of the sum is fixed. A batch has few numbers.
template <class T>
__global__ void add_squares(double* sums, const T* x, const float* targets, int64_t n) {
  __shared__ double scratch[kWarp];
  double total = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    const double error = double(load(x + i)) - double(targets[i]);
    total += error * error;
  }
  total = block_sum(total, scratch);
  if (threadIdx.x != 0) return;
  sums[0] += total;
  sums[1] += total;
  sums[2] += double(n);
}

template <class T, class C = Compute<T>>
__global__ void slopes(T* dx, const T* x, const float* targets, int64_t n, C twice) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) store(dx + i, twice * (load(x + i) - C(targets[i])));
}

}  // namespace

void CudaKernels::squared_error(const Tensor& sums, const Tensor& predictions, const Tensor& targets) {
  dispatch_data_type(predictions, [&]<class T>(T) {
    launch(add_squares<T>, dim3(1), dim3(kThreads), 0, context_.stream(), sums.data<double>(), predictions.data<T>(),
           context_.numbers(targets), predictions.size());
  });
}

void CudaKernels::squared_error_backward(const Tensor& dpredictions, const Tensor& predictions, const Tensor& targets,
                                         double dloss) {
  dispatch_data_type(predictions, [&]<class T>(T) {
    const int64_t n = predictions.size();
    launch(slopes<T>, dim3(unsigned(divide_up(n, int64_t{kThreads}))), dim3(kThreads), 0, context_.stream(),
           dpredictions.data<T>(), predictions.data<T>(), context_.numbers(targets), n, Compute<T>(2 * dloss));
  });
}

}  // namespace gyre::cuda
