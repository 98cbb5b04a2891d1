// The elementwise passes of Muon and NorMuon over a matrix; its products are those of linear layers.
#include <cmath>

#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/map.h"

namespace gyre::cuda {
namespace {

template <class T>
__global__ void momentum_kernel(T* update, T* m, T* gradient, int64_t n, bool aligned, const double* verdict,
                                double momentum) {
  constexpr int N = kPackSize<T>;
  const int64_t first = first_of_thread<T>();
  const int count = count_in_pack<T>(first, n);
  if (count <= 0) return;
  T next[N] = {};
  if (verdict[kAccepted] != 0) {
    const T keep = T(momentum), rest = T(1 - momentum), factor = T(verdict[kGradientFactor]);
    T means[N], gradients[N];
    load_numbers(means, m + first, count, aligned);
    load_numbers(gradients, gradient + first, count, aligned);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const T now = rest * (gradients[i] * factor);
      means[i] = keep * means[i] + now;
      next[i] = keep * means[i] + now;
    }
    store_numbers(m + first, means, count, aligned);
  }
  store_numbers(update + first, next, count, aligned);
  store_pack(gradient + first, Pack<T>{}, count, aligned);
}

// Runs as one block, so that the order of the sum is fixed.
constexpr int kNormThreads = 256;
__global__ void inverse_norm_kernel(double* inverse, const double* squares, int64_t n) {
  __shared__ double scratch[kWarp];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kNormThreads) sum += squares[i];
  const double norm = sqrt(block_sum(sum, scratch));
  if (threadIdx.x == 0) *inverse = 1 / (norm > 1e-7 ? norm : 1e-7);
}

template <class T>
struct ScaleBy {
  const double* factor;
  __device__ T operator()(T x) const { return T(*factor) * x; }
};

template <class T>
__global__ void polynomial_kernel(T* p, const T* x, const T* y, int n, T a, T b, T c) {
  const int64_t i = int64_t(blockIdx.x) * kMapThreads + threadIdx.x;
  if (i >= int64_t(n) * n) return;
  const T sum = b * x[i] + c * y[i];
  p[i] = i / n == i % n ? sum + a : sum;
}

// One block per row.
constexpr int kRowThreads = 256;
template <class T>
__global__ void normalize_kernel(T* x, T* moments, int64_t d, const double* verdict, T keep, T rest) {
  __shared__ T scratch[kWarp];
  if (verdict[kAccepted] == 0) return;
  T* const row = x + int64_t(blockIdx.x) * d;
  const T before = moments[blockIdx.x];
  T sum = 0;
  for (int64_t i = threadIdx.x; i < d; i += kRowThreads) sum += row[i] * row[i];
  const T moment = keep * before + rest * (block_sum(sum, scratch) / T(d)), factor = 1 / (sqrt(moment) + T(1e-8));
  if (threadIdx.x == 0) moments[blockIdx.x] = moment;  // all threads have read it before block_sum()
  for (int64_t i = threadIdx.x; i < d; i += kRowThreads) row[i] *= factor;
}

template <class T>
struct DecayAndSubtract {
  T keep, rate;
  const double* verdict;
  __device__ T operator()(T value, T x) const { return verdict[kAccepted] != 0 ? keep * value - rate * x : value; }
};

}  // namespace

void CudaKernels::nesterov_momentum(const Tensor& update, const Tensor& m, const Tensor& gradient,
                                    const Tensor& verdict, double momentum) {
  dispatch_float(m, [&]<class T>(T) {
    launch(momentum_kernel<T>, dim3(map_blocks<T>(m.size())), dim3(kMapThreads), 0, context_.stream(), update.data<T>(),
           m.data<T>(), gradient.data<T>(), m.size(), all_aligned(update, m, gradient), verdict.data<double>(),
           momentum);
  });
}

void CudaKernels::divide_by_norm(const Tensor& y, const Tensor& x, const Tensor& squares) {
  const Tensor inverse = context_.empty({1}, DType::f64);
  launch(inverse_norm_kernel, dim3(1), dim3(kNormThreads), 0, context_.stream(), inverse.data<double>(),
         squares.data<double>(), squares.size());
  dispatch_float(x, [&]<class T>(T) { map<T>(context_, y, ScaleBy<T>{inverse.data<double>()}, x); });
}

void CudaKernels::newton_schulz_polynomial(const Tensor& p, const Tensor& x, const Tensor& y,
                                           const NewtonSchulzCoefficients& coefficients) {
  dispatch_float(p, [&]<class T>(T) {
    launch(polynomial_kernel<T>, dim3(unsigned(divide_up(p.size(), int64_t{kMapThreads}))), dim3(kMapThreads), 0,
           context_.stream(), p.data<T>(), x.data<T>(), y.data<T>(), int(p.rows()), T(coefficients.a),
           T(coefficients.b), T(coefficients.c));
  });
}

void CudaKernels::normalize_rows(const Tensor& x, const Tensor& moments, const Tensor& verdict, double beta2) {
  dispatch_float(x, [&]<class T>(T) {
    launch(normalize_kernel<T>, dim3(unsigned(x.rows())), dim3(kRowThreads), 0, context_.stream(), x.data<T>(),
           moments.data<T>(), x.cols(), verdict.data<double>(), T(beta2), T(1 - beta2));
  });
}

void CudaKernels::decay_and_subtract(const Tensor& value, const Tensor& x, const Tensor& verdict, double keep,
                                     double rate) {
  dispatch_float(value, [&]<class T>(T) {
    map<T>(context_, value, DecayAndSubtract<T>{T(keep), T(rate), verdict.data<double>()}, value, x);
  });
}

}  // namespace gyre::cuda
