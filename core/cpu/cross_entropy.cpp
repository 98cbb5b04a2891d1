// Per row of logits x: lse = log sum_j exp(x_j),
//   loss = (1 - eps) (lse - x_t) + eps (lse - mean(x)),   dx_j = dloss (exp(x_j - lse) - eps / v - (1 - eps) [j = t])
#include <cmath>
#include <limits>
#include <vector>

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/parallel.h"
#include "core/cpu/vector_math.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class T>
T row_max(const T* x, int64_t v) {
  T largest = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : largest)
  for (int64_t j = 0; j < v; ++j) largest = x[j] > largest ? x[j] : largest;
  return largest;
}

template <class T>
T log_sum_exp(const T* x, int64_t v, T largest) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < v; ++j) sum += exponential(x[j] - largest);
  return largest + std::log(sum);
}

template <class T>
T row_mean(const T* x, int64_t v) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < v; ++j) sum += x[j];
  return sum / T(v);
}

}  // namespace

CrossEntropySums CpuKernels::cross_entropy(const Tensor& lse, const Tensor& logits, const Tensor& targets,
                                           double smoothing) {
  return with_type(logits, [&]<class T>(T) {
    const int64_t n = logits.rows(), v = logits.cols();
    const int32_t* target = targets.data<int32_t>();
    struct Row {
      double loss = 0, nll = 0;
      bool counted = false, correct = false;
    };
    std::vector<Row> rows(static_cast<size_t>(n));
    parallel_ranges(n, v, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* x = logits.data<T>() + i * v;
        const T largest = row_max(x, v), l = log_sum_exp(x, v, largest);
        lse.data<T>()[i] = l;
        if (target[i] < 0) continue;
        const double nll = double(l) - double(x[target[i]]);
        const double uniform = smoothing > 0 ? double(l) - double(row_mean(x, v)) : 0;
        rows[size_t(i)] = {(1 - smoothing) * nll + smoothing * uniform, nll, true, x[target[i]] == largest};
      }
    });
    CrossEntropySums sums;
    for (const Row& r : rows) {
      sums.loss += r.loss;
      sums.nll += r.nll;
      sums.tokens += r.counted;
      sums.correct += r.correct;
    }
    return sums;
  });
}

void CpuKernels::cross_entropy_backward(const Tensor& dlogits, const Tensor& logits, const Tensor& targets,
                                        const Tensor& lse, double smoothing, double dloss) {
  with_type(logits, [&]<class T>(T) {
    const int64_t n = logits.rows(), v = logits.cols();
    const int32_t* target = targets.data<int32_t>();
    const T scale = T(dloss), uniform = T(dloss * smoothing / double(v)), hit = T(dloss * (1 - smoothing));
    parallel_ranges(n, v, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* dx = dlogits.data<T>() + i * v;
        const T *x = logits.data<T>() + i * v, l = lse.data<T>()[i];
        if (target[i] < 0) {
          std::fill(dx, dx + v, T(0));
          continue;
        }
#pragma omp simd
        for (int64_t j = 0; j < v; ++j) dx[j] = scale * exponential(x[j] - l) - uniform;
        dx[target[i]] -= hit;
      }
    });
  });
}

void CpuKernels::log_softmax(const Tensor& out, const Tensor& x) {
  with_type(x, [&]<class T>(T) {
    const int64_t n = x.rows(), v = x.cols();
    parallel_ranges(n, v, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* to = out.data<T>() + i * v;
        const T *from = x.data<T>() + i * v, l = log_sum_exp(from, v, row_max(from, v));
#pragma omp simd
        for (int64_t j = 0; j < v; ++j) to[j] = from[j] - l;
      }
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
