// Cross-entropy of rows of logits, alone and of pairs of rows (R-Drop), and log-softmax.
#include <cmath>
#include <limits>
#include <vector>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/formulas.h"
#include "gyre/core/cpu/head_tiles.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class C>
struct LargestAndSum {
  C largest, sum;
};

// Computes the maximum and the sum in one pass, because the row may have to be fetched from memory. It uses
// vector types, because Clang does not vectorize a loop that computes a maximum.
template <class T, class C = Compute<T>>
LargestAndSum<C> largest_and_sum(const T* x, int64_t v) {
  constexpr int64_t lanes = kLanes<C>;
  typename VectorOf<C>::type sums{}, most = sums - std::numeric_limits<C>::infinity();
  int64_t j = 0;
  for (; j + lanes <= v; j += lanes) {
    const auto numbers = load_vector(x + j);
    most = numbers > most ? numbers : most;
    sums += numbers;
  }
  C largest = -std::numeric_limits<C>::infinity(), sum = 0;
  const auto add = [&](C maximum, C number) {
    largest = maximum > largest ? maximum : largest;
    sum += number;
  };
  for (int64_t lane = 0; lane < lanes; ++lane) add(most[lane], sums[lane]);
  for (; j < v; ++j) add(C(x[j]), C(x[j]));
  return {largest, sum};
}

template <class T, class C = Compute<T>>
C log_sum_exp(const T* x, int64_t v, C largest) {
  C sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < v; ++j) sum += exponential(x[j] - largest);
  return largest + std::log(sum);
}

void add_rows(const Tensor& sums, const std::vector<RowTerms>& rows) {
  double* sum = sums.data<double>();
  for (const RowTerms& r : rows) {
    sum[0] += r.loss;
    sum[1] += r.nll;
    sum[2] += r.counted;
    sum[3] += r.correct;
  }
}

template <class T, class C>
void backward_row(T* dx, const T* x, int64_t target, C lse, int64_t v, const GradientTerms<C>& gradient) {
  if (target < 0) return std::fill(dx, dx + v, T(C(0)));
  const C scale = gradient.scale * (1 + gradient.z * lse);
  const auto gradient_at = [=](int64_t j) { return scale * exponential(x[j] - lse) - gradient.uniform; };
  const C at_target = gradient_at(target) - gradient.target_term;  // computed first, because dx overwrites x
#pragma omp simd
  for (int64_t j = 0; j < v; ++j) dx[j] = gradient_at(j);
  dx[target] = at_target;
}

template <class T, class C>
RowPair<C> compare_rows(const T* x, const T* y, int64_t v, C largest_x, C largest_y) {
  C sum_x = 0, sum_y = 0, weighted_x = 0, weighted_y = 0;
#pragma omp simd reduction(+ : sum_x, sum_y, weighted_x, weighted_y)
  for (int64_t j = 0; j < v; ++j) {
    const C difference = C(x[j]) - C(y[j]);
    const C px = exponential(x[j] - largest_x), py = exponential(y[j] - largest_y);
    sum_x += px;
    sum_y += py;
    weighted_x += px * difference;
    weighted_y += py * difference;
  }
  return {largest_x + std::log(sum_x), largest_y + std::log(sum_y), weighted_x / sum_x, weighted_y / sum_y};
}

// Replaces both rows by their gradients. `divergence`: the factor of both divergences in the loss.
template <class T, class C>
void replace_pair(T* x, T* y, int64_t target, const RowPair<C>& pair, int64_t v, const GradientTerms<C>& gradient,
                  C divergence) {
  const auto gradients_at = [=](int64_t j, C& dx, C& dy) {
    pair.gradients(dx, dy, x[j], y[j], gradient.scale, gradient.uniform, divergence);
  };
  C target_dx, target_dy;
  gradients_at(target, target_dx, target_dy);  // computed first, because the loop overwrites x and y
#pragma omp simd
  for (int64_t j = 0; j < v; ++j) {
    C dx, dy;
    gradients_at(j, dx, dy);
    x[j] = dx;
    y[j] = dy;
  }
  x[target] = target_dx - gradient.target_term;
  y[target] = target_dy - gradient.target_term;
}

}  // namespace

void CpuKernels::cross_entropy(const Tensor& sums, const Tensor& lse, const Tensor& logits, const Tensor& targets,
                               int64_t v, const CrossEntropyOptions& options) {
  dispatch_data_type(logits, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t n = logits.rows();
    const int32_t* target = targets.data<int32_t>();
    std::vector<RowTerms> rows(static_cast<size_t>(n));
    parallel_ranges(n, v, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* x = logits.data<T>() + i * logits.cols();
        const auto totals = largest_and_sum(x, v);
        const C l = log_sum_exp(x, v, totals.largest);
        if (lse) lse.data<C>()[i] = l;
        rows[size_t(i)] = row_terms(x, target[i], l, totals.largest, totals.sum, v, options);
      }
    });
    add_rows(sums, rows);
  });
}

void CpuKernels::cross_entropy_backward(const Tensor& dlogits, const Tensor& logits, const Tensor& targets,
                                        const Tensor& lse, int64_t v, const CrossEntropyOptions& options,
                                        double dloss) {
  dispatch_data_type(logits, [&]<class T>(T) {
    using C = Compute<T>;
    const GradientTerms<C> gradient = gradient_terms<C>(v, options, dloss);
    const int32_t* target = targets.data<int32_t>();
    const T* x = logits.data<T>();
    T* dx = dlogits.data<T>();
    const C* l = lse.data<C>();
    parallel_ranges(logits.rows(), v, [=, stride = logits.cols()](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) backward_row(dx + i * stride, x + i * stride, target[i], l[i], v, gradient);
    });
  });
}

void CpuKernels::cross_entropy_in_place(const Tensor& sums, const Tensor& logits, const Tensor& targets, int64_t v,
                                        const CrossEntropyOptions& options) {
  const Tensor lse = Tensor::empty({logits.rows()}, statistics_dtype(logits.dtype()));
  cross_entropy(sums, lse, logits, targets, v, options);
  cross_entropy_backward(logits, logits, targets, lse, v, options, 1);
}

void CpuKernels::r_drop_in_place(const Tensor& sums, const Tensor& logits, const Tensor& targets, int64_t v,
                                 double smoothing, double alpha) {
  dispatch_data_type(logits, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t n = targets.size();
    const int32_t* target = targets.data<int32_t>();
    const GradientTerms<C> gradient = gradient_terms<C>(v, {.smoothing = smoothing}, 0.5);
    std::vector<RowTerms> rows(static_cast<size_t>(n));
    parallel_ranges(n, 2 * v, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T *x = logits.data<T>() + i * logits.cols(), *y = x + n * logits.cols();
        if (target[i] < 0) {
          std::fill(x, x + v, T(C(0)));
          std::fill(y, y + v, T(C(0)));
          continue;
        }
        const auto of_x = largest_and_sum(x, v), of_y = largest_and_sum(y, v);
        const RowPair<C> pair = compare_rows(x, y, v, of_x.largest, of_y.largest);
        const auto terms = [&](const T* row, const LargestAndSum<C>& of, C lse) {
          return row_terms(row, target[i], lse, of.largest, of.sum, v, {.smoothing = smoothing});
        };
        rows[size_t(i)] = pair.terms(terms(x, of_x, pair.lse_x), terms(y, of_y, pair.lse_y), alpha);
        replace_pair(x, y, target[i], pair, v, gradient, C(alpha / 4));
      }
    });
    add_rows(sums, rows);
  });
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
