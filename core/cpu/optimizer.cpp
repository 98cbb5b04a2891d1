// Optimizer passes over flat parameter buffers.
#include <cmath>
#include <vector>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// Sums in independent lanes, because a single chain of additions would be slower than memory.
template <class T>
double sum_of_squares(const T* x, int64_t n) {
  constexpr int64_t kSums = 32;
  double lanes[kSums] = {}, sum = 0;
  int64_t i = 0;
  for (; i + kSums <= n; i += kSums) {
#pragma omp simd
    for (int64_t l = 0; l < kSums; ++l) lanes[l] += double(x[i + l]) * double(x[i + l]);
  }
  for (; i < n; ++i) sum += double(x[i]) * double(x[i]);
  for (double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

std::vector<double> CpuKernels::block_square_sums(const Tensor& x) {
  return dispatch_float(x, [&]<class T>(T) {
    const int64_t n = x.size(), blocks = squares_blocks(n);
    const T* in = x.data<T>();
    std::vector<double> sums(size_t(blocks), 0.0);
    parallel_ranges(blocks, kSquaresBlock, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        sums[size_t(b)] = sum_of_squares(in + b * kSquaresBlock, std::min(kSquaresBlock, n - b * kSquaresBlock));
      }
    });
    return sums;
  });
}

// m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  value = keep value - lr * (m / bias1) / (sqrt(v / bias2) + eps),
// keep = 1 - lr * weight_decay;  g = 0.
void CpuKernels::adam(const Tensor& value, const Tensor& m, const Tensor& v, const Tensor& gradient,
                      const AdamStep& step) {
  dispatch_float(value, [&]<class T>(T) {
    T *w = value.data<T>(), *mean = m.data<T>(), *square = v.data<T>(), *gradients = gradient.data<T>();
    const T b1 = T(step.beta1), b2 = T(step.beta2), rest1 = T(1 - step.beta1), rest2 = T(1 - step.beta2);
    const T rate = T(step.learning_rate / step.bias1), root = T(1 / std::sqrt(step.bias2)), epsilon = T(step.epsilon);
    const T keep = T(1 - step.learning_rate * step.weight_decay), factor = T(step.gradient_scale);
    parallel_ranges(value.size(), 4, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const T g = gradients[i] * factor;
        gradients[i] = 0;
        const T first = b1 * mean[i] + rest1 * g, second = b2 * square[i] + rest2 * g * g;
        mean[i] = first;
        square[i] = second;
        w[i] = keep * w[i] - rate * first / (std::sqrt(second) * root + epsilon);
      }
    });
  });
}

void CpuKernels::moving_average(const Tensor& average, const Tensor& value, double decay) {
  dispatch_float(value, [&]<class T>(T) {
    T* mean = average.data<T>();
    const T *x = value.data<T>(), rest = T(1 - decay);
    parallel_ranges(value.size(), 2, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) mean[i] += rest * (x[i] - mean[i]);
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
