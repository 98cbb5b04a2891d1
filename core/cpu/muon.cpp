// The elementwise passes of Muon and NorMuon over a matrix; its products are those of linear layers.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {

void CpuKernels::nesterov_momentum(const Tensor& update, const Tensor& m, const Tensor& gradient, const Tensor& verdict,
                                   double momentum) {
  dispatch_float(m, [&]<class T>(T) {
    T *to = update.data<T>(), *mean = m.data<T>(), *g = gradient.data<T>();
    const bool accepted = verdict.data<double>()[kAccepted] != 0;
    const T keep = T(momentum), rest = T(1 - momentum), factor = T(verdict.data<double>()[kGradientFactor]);
    parallel_ranges(m.size(), 4, [=](int64_t begin, int64_t end) {
      if (!accepted) {
        std::fill(to + begin, to + end, T(0));
        std::fill(g + begin, g + end, T(0));
        return;
      }
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const T now = rest * (g[i] * factor), next = keep * mean[i] + now;
        g[i] = 0;
        mean[i] = next;
        to[i] = keep * next + now;
      }
    });
  });
}

void CpuKernels::divide_by_norm(const Tensor& y, const Tensor& x, const Tensor& squares) {
  const auto blocks = squares.span<double>();
  const double norm = std::sqrt(std::accumulate(blocks.begin(), blocks.end(), 0.0));
  dispatch_float(x, [&]<class T>(T) {
    const T* from = x.data<T>();
    T *to = y.data<T>(), factor = T(1 / std::max(norm, 1e-7));
    parallel_ranges(x.size(), 2, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) to[i] = factor * from[i];
    });
  });
}

void CpuKernels::newton_schulz_polynomial(const Tensor& p, const Tensor& x, const Tensor& y,
                                          const NewtonSchulzCoefficients& coefficients) {
  dispatch_float(p, [&]<class T>(T) {
    const int64_t n = p.rows();
    const T *first = x.data<T>(), *second = y.data<T>();
    T *to = p.data<T>(), a = T(coefficients.a), b = T(coefficients.b), c = T(coefficients.c);
    parallel_ranges(n, 3 * n, [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
#pragma omp simd
        for (int64_t i = row * n; i < (row + 1) * n; ++i) to[i] = b * first[i] + c * second[i];
        to[row * n + row] += a;
      }
    });
  });
}

void CpuKernels::normalize_rows(const Tensor& x, const Tensor& moments, const Tensor& verdict, double beta2) {
  if (verdict.data<double>()[kAccepted] == 0) return;
  dispatch_float(x, [&]<class T>(T) {
    const int64_t d = x.cols();
    T *all = x.data<T>(), *means = moments.data<T>();
    const T keep = T(beta2), rest = T(1 - beta2);
    parallel_ranges(x.rows(), d, [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        T *values = all + row * d, sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < d; ++i) sum += values[i] * values[i];
        means[row] = keep * means[row] + rest * (sum / T(d));
        const T factor = 1 / (std::sqrt(means[row]) + T(1e-8));
#pragma omp simd
        for (int64_t i = 0; i < d; ++i) values[i] *= factor;
      }
    });
  });
}

void CpuKernels::decay_and_subtract(const Tensor& value, const Tensor& x, const Tensor& verdict, double keep,
                                    double rate) {
  if (verdict.data<double>()[kAccepted] == 0) return;
  dispatch_float(value, [&]<class T>(T) {
    T* w = value.data<T>();
    const T *step = x.data<T>(), kept = T(keep), factor = T(rate);
    parallel_ranges(value.size(), 3, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) w[i] = kept * w[i] - factor * step[i];
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
