// Label-smoothed cross-entropy. For each row of logits x: lse = log sum_j exp(x_j),
//   loss = (1 - eps) (lse - x_t) + eps (lse - mean(x)),   dx_j = dloss (exp(x_j - lse) - eps / v - (1 - eps) [j = t])
#include <cmath>
#include <limits>
#include <vector>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"
#include "gyre/core/cpu/vector_math.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class C>
struct LargestAndSum {
  C largest, sum;
};

// Computes the maximum and the sum in one pass, because the row may have to be fetched from memory.
template <class T, class C = Compute<T>>
LargestAndSum<C> largest_and_sum(const T* x, int64_t v) {
  C largest = -std::numeric_limits<C>::infinity(), sum = 0;
#pragma omp simd reduction(max : largest) reduction(+ : sum)
  for (int64_t j = 0; j < v; ++j) {
    largest = x[j] > largest ? C(x[j]) : largest;
    sum += x[j];
  }
  return {largest, sum};
}

template <class T, class C = Compute<T>>
C log_sum_exp(const T* x, int64_t v, C largest) {
  C sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < v; ++j) sum += exponential(x[j] - largest);
  return largest + std::log(sum);
}

// dx_j = scale * exp(x_j - lse) - uniform - target_term [j = target]
template <class C>
struct LogitGradient {
  C scale, uniform, target_term;
};

template <class T, class C>
void backward_row(T* dx, const T* x, int64_t target, C lse, int64_t v, const LogitGradient<C>& gradient) {
  if (target < 0) return std::fill(dx, dx + v, T(C(0)));
  const auto gradient_at = [=](int64_t j) { return gradient.scale * exponential(x[j] - lse) - gradient.uniform; };
  const C at_target = gradient_at(target) - gradient.target_term;  // before dx overwrites x
#pragma omp simd
  for (int64_t j = 0; j < v; ++j) dx[j] = gradient_at(j);
  dx[target] = at_target;
}

}  // namespace

void CpuKernels::cross_entropy(const Tensor& sums, const Tensor& lse, const Tensor& logits, const Tensor& targets,
                               int64_t v, double smoothing) {
  dispatch_data_type(logits, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t n = logits.rows();
    const int32_t* target = targets.data<int32_t>();
    struct Row {
      double loss = 0, nll = 0;
      bool counted = false, correct = false;
    };
    std::vector<Row> rows(static_cast<size_t>(n));
    parallel_ranges(n, v, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* x = logits.data<T>() + i * logits.cols();
        const auto [largest, sum] = largest_and_sum(x, v);
        const C l = log_sum_exp(x, v, largest);
        if (lse) lse.data<C>()[i] = l;
        if (target[i] < 0) continue;
        const C target_logit = x[target[i]];
        const double nll = double(l) - double(target_logit);
        const double uniform = smoothing > 0 ? double(l) - double(sum) / double(v) : 0;
        rows[size_t(i)] = {(1 - smoothing) * nll + smoothing * uniform, nll, true, target_logit == largest};
      }
    });
    double* sum = sums.data<double>();
    for (const Row& r : rows) {
      sum[0] += r.loss;
      sum[1] += r.nll;
      sum[2] += r.counted;
      sum[3] += r.correct;
    }
  });
}

void CpuKernels::cross_entropy_backward(const Tensor& dlogits, const Tensor& logits, const Tensor& targets,
                                        const Tensor& lse, int64_t v, double smoothing, double dloss) {
  dispatch_data_type(logits, [&]<class T>(T) {
    using C = Compute<T>;
    const LogitGradient<C> gradient{C(dloss), C(dloss * smoothing / double(v)), C(dloss * (1 - smoothing))};
    const int32_t* target = targets.data<int32_t>();
    const T* x = logits.data<T>();
    T* dx = dlogits.data<T>();
    const C* l = lse.data<C>();
    parallel_ranges(logits.rows(), v, [=, stride = logits.cols()](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        backward_row(dx + i * stride, x + i * stride, target[i], l[i], v, gradient);
      }
    });
  });
}

void CpuKernels::cross_entropy_in_place(const Tensor& sums, const Tensor& logits, const Tensor& targets, int64_t v,
                                        double smoothing) {
  const Tensor lse = Tensor::empty({logits.rows()}, statistics_dtype(logits.dtype()));
  cross_entropy(sums, lse, logits, targets, v, smoothing);
  cross_entropy_backward(logits, logits, targets, lse, v, smoothing, 1);
}

void CpuKernels::log_softmax(const Tensor& out, const Tensor& x) {
  dispatch_data_type(x, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t n = x.rows(), v = x.cols();
    parallel_ranges(n, v, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* to = out.data<T>() + i * v;
        const T* from = x.data<T>() + i * v;
        const C l = log_sum_exp(from, v, largest_and_sum(from, v).largest);
#pragma omp simd
        for (int64_t j = 0; j < v; ++j) to[j] = from[j] - l;
      }
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
