// Optimizer passes over flat parameter buffers.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/formulas.h"
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

// A part of a range: its first element in the arena of values, among the gradients and in the arenas of the state, its
// number of elements, and the row of its group.
struct RangePart {
  int64_t begin, gradient, state, n;
  const double* group;
};

// Calls f(part) for parts of the ranges, in parallel.
template <class F>
void for_each_range(const UpdateRanges& ranges, F&& f) {
  using Row = std::array<int32_t, UpdateRanges::kColumns>;
  const auto* const rows = reinterpret_cast<const Row*>(ranges.table.data<int32_t>());
  const Row* const past = rows + ranges.table.dim(0);
  const auto* const groups = ranges.groups.data<double>();
  parallel_ranges(ranges.units, 4 * kUpdateUnit, [&](int64_t begin, int64_t end) {
    const auto starts_later = [](int64_t unit, const Row& row) { return unit < row[UpdateRanges::kFirst]; };
    for (const Row* row = std::upper_bound(rows, past, begin, starts_later) - 1; begin < end; ++row) {
      const int64_t next = row + 1 == past ? ranges.units : row[1][UpdateRanges::kFirst];
      const int64_t skipped = begin - (*row)[UpdateRanges::kFirst], units = std::min(next, end) - begin;
      const double* const group = groups + (*row)[UpdateRanges::kGroup] * UpdateRanges::kGroupColumns;
      f(RangePart{((*row)[UpdateRanges::kBegin] + skipped) * kUpdateUnit,
                  ((*row)[UpdateRanges::kGradient] + skipped) * kUpdateUnit,
                  ((*row)[UpdateRanges::kState] + skipped) * kUpdateUnit, units * kUpdateUnit, group});
      begin += units;
    }
  });
}

template <class T>
void zero_ranges(T* gradients, const UpdateRanges& ranges) {
  for_each_range(ranges, [=](const RangePart& part) { std::fill_n(gradients + part.gradient, part.n, T(0)); });
}

}  // namespace

void CpuKernels::block_square_sums(const Tensor& sums, const Tensor& x) {
  dispatch_float(x, [&]<class T>(T) {
    const int64_t n = x.size();
    const T* in = x.data<T>();
    auto* out = sums.data<double>();
    parallel_ranges(squares_blocks(n), kSquaresBlock, [=](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        out[b] = sum_of_squares(in + b * kSquaresBlock, std::min(kSquaresBlock, n - b * kSquaresBlock));
      }
    });
  });
}

void CpuKernels::judge_gradient(const Tensor& verdict, const Tensor& squares, const GradientLimits& limits) {
  const auto blocks = squares.span<double>();
  const double norm = std::sqrt(std::accumulate(blocks.begin(), blocks.end(), 0.0)) / limits.normalizer;
  // 1e-6 avoids a division by zero.
  const double clip = limits.clip_norm > 0 ? std::min(1.0, limits.clip_norm / (norm + 1e-6)) : 1.0;
  auto* out = verdict.data<double>();
  out[kGradientNorm] = norm;
  out[kGradientFactor] = clip / limits.normalizer;
  out[kAccepted] = std::isfinite(norm) && clip * norm <= limits.largest ? 1 : 0;
}

void CpuKernels::adam(const Tensor& value, const Tensor& m, const Tensor& v, const Tensor& gradient,
                      const UpdateRanges& ranges, const Tensor& verdict, const AdamStep& step) {
  dispatch_float(value, [&]<class T>(T) {
    T *w = value.data<T>(), *mean = m.data<T>(), *square = v.data<T>(), *gradients = gradient.data<T>();
    if (verdict.data<double>()[kAccepted] == 0) return zero_ranges(gradients, ranges);
    const Adam<T> adam(step);
    const T factor = T(verdict.data<double>()[kGradientFactor]);
    for_each_range(ranges, [=](const RangePart& part) {
      T *value = w + part.begin, *gradient = gradients + part.gradient;
      T *m = mean + part.state, *v = square + part.state;
      const GroupFactors<T> group = adam.factors(part.group);
#pragma omp simd
      for (int64_t i = 0; i < part.n; ++i) {
        const T g = gradient[i] * factor;
        gradient[i] = 0;
        adam.update(value[i], m[i], v[i], g, group);
      }
    });
  });
}

void CpuKernels::lion(const Tensor& value, const Tensor& m, const Tensor& gradient, const UpdateRanges& ranges,
                      const Tensor& verdict, const LionStep& step) {
  dispatch_float(value, [&]<class T>(T) {
    T *w = value.data<T>(), *momentum = m.data<T>(), *gradients = gradient.data<T>();
    if (verdict.data<double>()[kAccepted] == 0) return zero_ranges(gradients, ranges);
    const Lion<T> lion(step);
    const T factor = T(verdict.data<double>()[kGradientFactor]);
    for_each_range(ranges, [=](const RangePart& part) {
      T *value = w + part.begin, *gradient = gradients + part.gradient, *m = momentum + part.state;
      const GroupFactors<T> group = lion.factors(part.group);
#pragma omp simd
      for (int64_t i = 0; i < part.n; ++i) {
        const T g = gradient[i] * factor;
        gradient[i] = 0;
        lion.update(value[i], m[i], g, group);
      }
    });
  });
}

void CpuKernels::moving_average(const Tensor& average, const Tensor& value, const Tensor& verdict, double decay) {
  if (verdict.data<double>()[kAccepted] == 0) return;
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
