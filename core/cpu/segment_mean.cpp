// y_s = mean of x_i over the rows i of segment s;  dx_i = dy_s / rows of s. One thread adds the rows of a segment in
// order.
#include <algorithm>
#include <vector>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

int64_t elements_per_segment(const Segments& segments, int64_t d) {
  return d * segments.tokens() / std::max(1, segments.count());
}

}  // namespace

void CpuKernels::segment_mean(const Tensor& y, const Tensor& x, const Segments& segments) {
  const int64_t d = x.cols();
  dispatch_data_type(x, [&]<class T>(T) {
    using C = Compute<T>;
    parallel_ranges(segments.count(), elements_per_segment(segments, d), [&](int64_t begin, int64_t end) {
      std::vector<C> sums(static_cast<size_t>(d));
      C* sum = sums.data();
      for (int64_t s = begin; s < end; ++s) {
        std::fill(sums.begin(), sums.end(), C(0));
        for (int64_t i = segments.begin(int(s)); i < segments.end(int(s)); ++i) {
          const T* row = x.data<T>() + i * d;
#pragma omp simd
          for (int64_t j = 0; j < d; ++j) sum[j] += C(row[j]);
        }
        const C length = C(segments.length(int(s)));
        T* mean = y.data<T>() + s * d;
#pragma omp simd
        for (int64_t j = 0; j < d; ++j) mean[j] = sum[j] / length;
      }
    });
  });
}

void CpuKernels::segment_mean_backward(const Tensor& dx, const Tensor& dy, const Segments& segments) {
  const int64_t d = dx.cols();
  dispatch_data_type(dx, [&]<class T>(T) {
    using C = Compute<T>;
    parallel_ranges(segments.count(), elements_per_segment(segments, d), [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s) {
        const T* gradient = dy.data<T>() + s * d;
        const C length = C(segments.length(int(s)));
        for (int64_t i = segments.begin(int(s)); i < segments.end(int(s)); ++i) {
          T* row = dx.data<T>() + i * d;
#pragma omp simd
          for (int64_t j = 0; j < d; ++j) row[j] = C(gradient[j]) / length;
        }
      }
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
