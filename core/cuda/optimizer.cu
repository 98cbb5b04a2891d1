// Optimizer passes over flat parameter buffers. Adam, with keep = 1 - lr * weight_decay:
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  value = keep value - lr * (m / bias1) / (sqrt(v / bias2) + eps)
//   g = 0
#include <cmath>

#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/map.h"

namespace gyre::cuda {
namespace {

constexpr int kSquaresThreads = 256;
template <class T>
constexpr int kPartsOfThread = int(kSquaresBlock / (kSquaresThreads * kPackSize<T>));

// sums[b] = sum of squares of block b of x.
template <class T>
__global__ void squares_kernel(double* sums, const T* x, int64_t n, bool aligned) {
  __shared__ double scratch[kWarp];
  double sum = 0;
#pragma unroll 4
  for (int p = 0; p < kPartsOfThread<T>; ++p) {
    const int thread = p * kSquaresThreads + int(threadIdx.x);
    const int64_t first = blockIdx.x * kSquaresBlock + thread * kPackSize<T>;
    const Pack<T> some = load_pack(x + first, count_in_pack<T>(first, n), aligned);
    for (int i = 0; i < kPackSize<T>; ++i) sum += double(some[i]) * double(some[i]);
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <class T>
struct Adam {
  T b1, b2, rest1, rest2;
  T rate, root, epsilon;  // rate and root include the bias corrections
  T keep, factor;         // factors of the value and of the gradient

  explicit Adam(const AdamStep& step)
      : b1(T(step.beta1)),
        b2(T(step.beta2)),
        rest1(T(1 - step.beta1)),
        rest2(T(1 - step.beta2)),
        rate(T(step.learning_rate / step.bias1)),
        root(T(1 / std::sqrt(step.bias2))),
        epsilon(T(step.epsilon)),
        keep(T(1 - step.learning_rate * step.weight_decay)),
        factor(T(step.gradient_scale)) {}

  __device__ void update(T& value, T& m, T& v, T gradient) const {
    const T g = gradient * factor;
    m = b1 * m + rest1 * g;
    v = b2 * v + rest2 * g * g;
    value = keep * value - rate * m / (sqrt(v) * root + epsilon);
  }
};

template <class T>
__global__ void adam_kernel(T* value, T* m, T* v, T* gradient, int64_t n, bool aligned, Adam<T> adam) {
  constexpr int N = kPackSize<T>;
  const int64_t first = first_of_thread<T>();
  const int count = count_in_pack<T>(first, n);
  if (count == 0) return;
  T values[N], means[N], squares[N], gradients[N];
  load_numbers(values, value + first, count, aligned);
  load_numbers(means, m + first, count, aligned);
  load_numbers(squares, v + first, count, aligned);
  load_numbers(gradients, gradient + first, count, aligned);
#pragma unroll
  for (int i = 0; i < N; ++i) adam.update(values[i], means[i], squares[i], gradients[i]);
  store_numbers(value + first, values, count, aligned);
  store_numbers(m + first, means, count, aligned);
  store_numbers(v + first, squares, count, aligned);
  store_pack(gradient + first, Pack<T>{}, count, aligned);
}

template <class T>
struct Approach {
  T rest;
  __device__ T operator()(T average, T value) const { return average + rest * (value - average); }
};

}  // namespace

std::vector<double> CudaKernels::block_square_sums(const Tensor& x) {
  const int64_t n = x.size(), blocks = squares_blocks(n);
  std::vector<double> sums(static_cast<size_t>(blocks));
  if (n == 0) return sums;
  return dispatch_float(x, [&]<class T>(T) {
    const Tensor found = context_.empty({blocks}, DType::f64);
    const cudaStream_t stream = context_.stream();
    launch(squares_kernel<T>, dim3(unsigned(blocks)), dim3(kSquaresThreads), 0, stream, found.data<double>(),
           x.data<T>(), n, all_aligned(x));
    check(cudaMemcpyAsync(sums.data(), found.raw(), sums.size() * sizeof(double), cudaMemcpyDeviceToHost, stream),
          "cudaMemcpyAsync(to host)");
    context_.synchronize();
    return sums;
  });
}

void CudaKernels::adam(const Tensor& value, const Tensor& m, const Tensor& v, const Tensor& gradient,
                       const AdamStep& step) {
  dispatch_float(value, [&]<class T>(T) {
    launch(adam_kernel<T>, dim3(map_blocks<T>(value.size())), dim3(kMapThreads), 0, context_.stream(), value.data<T>(),
           m.data<T>(), v.data<T>(), gradient.data<T>(), value.size(), all_aligned(value, m, v, gradient),
           Adam<T>(step));
  });
}

void CudaKernels::moving_average(const Tensor& average, const Tensor& value, double decay) {
  dispatch_float(value, [&]<class T>(T) { map<T>(context_, average, Approach<T>{T(1 - decay)}, average, value); });
}

}  // namespace gyre::cuda
