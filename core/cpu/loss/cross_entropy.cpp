// Label-smoothed cross-entropy with z-loss. For each row of logits x: lse = log sum_j exp(x_j),
//   loss = (1 - eps) (lse - x_t) + eps (lse - mean(x)) + z lse^2,
//   dx_j = dloss ((1 + 2 z lse) exp(x_j - lse) - eps / v - (1 - eps) [j = t])
// R-Drop compares rows x and y of logits. With p_j = exp(x_j - lse(x)), q_j = exp(y_j - lse(y)), and the logarithms
// l_j = log(p_j / q_j) = x_j - y_j - (lse(x) - lse(y)):
//   KL(p || q) = sum_j p_j l_j,   KL(q || p) = - sum_j q_j l_j,
//   d(KL(p || q) + KL(q || p))/dx_j = p_j (l_j - KL(p || q)) + p_j - q_j, and with the roles of x and y exchanged for y
#include <cmath>
#include <limits>
#include <vector>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/head_tiles.h"
#include "gyre/core/cpu/parallel.h"
#include "gyre/core/cpu/vector_math.h"

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

// The part of a row in the sums; zeros for an ignored row.
struct RowSums {
  double loss = 0, nll = 0;
  bool counted = false, correct = false;
};

template <class T, class C>
RowSums sums_of_row(const T* x, int64_t target, const LargestAndSum<C>& totals, C lse, int64_t v,
                    const CrossEntropyOptions& options) {
  if (target < 0) return {};
  const C target_logit = x[target];
  const double nll = double(lse) - double(target_logit);
  const double uniform = options.smoothing > 0 ? double(lse) - double(totals.sum) / double(v) : 0;
  const double z = options.z_loss * double(lse) * double(lse);
  return {(1 - options.smoothing) * nll + options.smoothing * uniform + z, nll, true, target_logit == totals.largest};
}

void add_rows(const Tensor& sums, const std::vector<RowSums>& rows) {
  double* sum = sums.data<double>();
  for (const RowSums& r : rows) {
    sum[0] += r.loss;
    sum[1] += r.nll;
    sum[2] += r.counted;
    sum[3] += r.correct;
  }
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
  const C at_target = gradient_at(target) - gradient.target_term;  // computed first, because dx overwrites x
#pragma omp simd
  for (int64_t j = 0; j < v; ++j) dx[j] = gradient_at(j);
  dx[target] = at_target;
}

// Rows x and y of logits, of one token in two passes.
template <class C>
struct RowPair {
  C lse_x, lse_y;
  C kl_pq, kl_qp;  // the divergences KL(p || q) and KL(q || p) of their distributions
};

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
  const C lse_x = largest_x + std::log(sum_x), lse_y = largest_y + std::log(sum_y), shift = lse_x - lse_y;
  return {lse_x, lse_y, weighted_x / sum_x - shift, shift - weighted_y / sum_y};
}

// Replaces both rows by their gradients. `divergence`: the factor of both divergences in the loss.
template <class T, class C>
void replace_pair(T* x, T* y, int64_t target, const RowPair<C>& pair, int64_t v, const LogitGradient<C>& gradient,
                  C divergence) {
  struct Both {
    C x, y;
  };
  const C shift = pair.lse_x - pair.lse_y;
  const auto gradients_at = [=](int64_t j) {
    const C p = exponential(x[j] - pair.lse_x), q = exponential(y[j] - pair.lse_y);
    const C log_ratio = C(x[j]) - C(y[j]) - shift;
    return Both{gradient.scale * p - gradient.uniform + divergence * (p * (log_ratio - pair.kl_pq) + p - q),
                gradient.scale * q - gradient.uniform - divergence * (q * (log_ratio + pair.kl_qp) + p - q)};
  };
  const Both at_target = gradients_at(target);  // computed first, because the loop overwrites x and y
#pragma omp simd
  for (int64_t j = 0; j < v; ++j) {
    const Both both = gradients_at(j);
    x[j] = both.x;
    y[j] = both.y;
  }
  x[target] = at_target.x - gradient.target_term;
  y[target] = at_target.y - gradient.target_term;
}

}  // namespace

void CpuKernels::cross_entropy(const Tensor& sums, const Tensor& lse, const Tensor& logits, const Tensor& targets,
                               int64_t v, const CrossEntropyOptions& options) {
  dispatch_data_type(logits, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t n = logits.rows();
    const int32_t* target = targets.data<int32_t>();
    std::vector<RowSums> rows(static_cast<size_t>(n));
    parallel_ranges(n, v, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* x = logits.data<T>() + i * logits.cols();
        const auto totals = largest_and_sum(x, v);
        const C l = log_sum_exp(x, v, totals.largest);
        if (lse) lse.data<C>()[i] = l;
        rows[size_t(i)] = sums_of_row(x, target[i], totals, l, v, options);
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
    const double smoothing = options.smoothing;
    const LogitGradient<C> gradient{C(dloss), C(dloss * smoothing / double(v)), C(dloss * (1 - smoothing))};
    const C z = C(2 * options.z_loss);
    const int32_t* target = targets.data<int32_t>();
    const T* x = logits.data<T>();
    T* dx = dlogits.data<T>();
    const C* l = lse.data<C>();
    parallel_ranges(logits.rows(), v, [=, stride = logits.cols()](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const LogitGradient<C> of_row{gradient.scale * (1 + z * l[i]), gradient.uniform, gradient.target_term};
        backward_row(dx + i * stride, x + i * stride, target[i], l[i], v, of_row);
      }
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
    const LogitGradient<C> gradient{C(0.5), C(0.5 * smoothing / double(v)), C(0.5 * (1 - smoothing))};
    std::vector<RowSums> rows(static_cast<size_t>(n));
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
        const RowSums first = sums_of_row(x, target[i], of_x, pair.lse_x, v, {.smoothing = smoothing});
        const RowSums second = sums_of_row(y, target[i], of_y, pair.lse_y, v, {.smoothing = smoothing});
        const double divergence = double(pair.kl_pq) + double(pair.kl_qp);
        rows[size_t(i)] = {(first.loss + second.loss) / 2 + alpha / 4 * divergence, (first.nll + second.nll) / 2, true,
                           first.correct};
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
