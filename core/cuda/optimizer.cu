// Passes over the flat parameter arenas.
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  value -= lr * (m / bias1) / (sqrt(v / bias2) + eps), after the
//   decay;  g = 0
#include <cmath>

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/map.h"

namespace gyre::cuda {
namespace {

constexpr int kSquaresThreads = 256, kPartsOfThread = 16, kAddThreads = 1024;
template <class T>
constexpr int64_t kSquaresOfBlock = int64_t{kSquaresThreads} * kPartsOfThread* kNeighbours<T>;

// partial[b] = the sum over block b of x.
template <class T>
__global__ void squares_kernel(double* partial, const T* x, int64_t n, bool aligned) {
  __shared__ double scratch[kWarp];
  double sum = 0;
#pragma unroll 4
  for (int p = 0; p < kPartsOfThread; ++p) {
    const int thread = p * kSquaresThreads + int(threadIdx.x);
    const int64_t first = blockIdx.x * kSquaresOfBlock<T> + thread * kNeighbours<T>;
    const Neighbours<T> some = load_neighbours(x + first, count_neighbours<T>(first, n), aligned);
    for (int i = 0; i < kNeighbours<T>; ++i) sum += double(some[i]) * double(some[i]);
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// One block.
__global__ void add_kernel(double* total, const double* partial, int64_t n) {
  __shared__ double scratch[kWarp];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kAddThreads) sum += partial[i];
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) *total = sum;
}

template <class T>
struct Adam {
  T b1, b2, rest1, rest2;
  T rate, root, epsilon;  // the bias corrections are in rate and root
  T keep, factor;         // on the value, on the gradient

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
  constexpr int N = kNeighbours<T>;
  const int64_t first = first_of_thread<T>();
  const int count = count_neighbours<T>(first, n);
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
  store_neighbours(gradient + first, Neighbours<T>{}, count, aligned);
}

template <class T>
struct Approach {
  T rest;
  __device__ T operator()(T average, T value) const { return average + rest * (value - average); }
};

}  // namespace

double CudaKernels::sum_of_squares(const Tensor& x) {
  const int64_t n = x.size();
  if (n == 0) return 0;
  return with_type(x, [&]<class T>(T) {
    const int64_t blocks = divide_up(n, kSquaresOfBlock<T>);
    const Tensor sums = context_.empty({blocks + 1}, DType::f64);
    double *partial = sums.data<double>(), *total = partial + blocks, result = 0;
    const cudaStream_t stream = context_.stream();
    launch(squares_kernel<T>, dim3(unsigned(blocks)), dim3(kSquaresThreads), 0, stream, partial, x.data<T>(), n,
           all_aligned(x));
    launch(add_kernel, dim3(1), dim3(kAddThreads), 0, stream, total, partial, blocks);
    check(cudaMemcpyAsync(&result, total, sizeof(result), cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync(to host)");
    context_.synchronize();
    return result;
  });
}

void CudaKernels::adam(const Tensor& value, const Tensor& m, const Tensor& v, const Tensor& gradient,
                       const AdamStep& step) {
  with_type(value, [&]<class T>(T) {
    launch(adam_kernel<T>, dim3(map_blocks<T>(value.size())), dim3(kMapThreads), 0, context_.stream(), value.data<T>(),
           m.data<T>(), v.data<T>(), gradient.data<T>(), value.size(), all_aligned(value, m, v, gradient),
           Adam<T>(step));
  });
}

void CudaKernels::moving_average(const Tensor& average, const Tensor& value, double decay) {
  with_type(value, [&]<class T>(T) { map<T>(context_, average, Approach<T>{T(1 - decay)}, average, value); });
}

}  // namespace gyre::cuda
