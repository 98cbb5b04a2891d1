// Activations, gated activations and their derivatives.
#include <algorithm>

#include "gyre/core/cpu/activation_strips.h"
#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/strips.h"

namespace gyre::GYRE_CPU_NAMESPACE {

void CpuKernels::activation(const Tensor& y, const Tensor& x, Activation kind) {
  dispatch_compute_type(x, [&]<class C>(C) {
    const Strips strips(1, x.size());
    write_strips<C>(y, strips, [&](C* to, const Strip& s) {
      alignas(kVectorBytes) Buffer<C> buffer;
      activate_strip(to, load_strip(x, s.column, s.columns, buffer), s.columns, kind);
    });
  });
}

void CpuKernels::activation_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, Activation kind) {
  dispatch_compute_type(x, [&]<class C>(C) {
    const Strips strips(1, x.size());
    write_strips<C>(dx, strips, [&](C* to, const Strip& s) {
      alignas(kVectorBytes) Buffer<C> of_x, of_dy, slopes;
      activation_slopes(slopes, load_strip(x, s.column, s.columns, of_x), s.columns, kind);
      const C* g = load_strip(dy, s.column, s.columns, of_dy);
#pragma omp simd
      for (int64_t j = 0; j < s.columns; ++j) to[j] = g[j] * slopes[j];
    });
  });
}

namespace {

// Calls f(row, first column, columns) for strips of the rows of a matrix, in parallel.
template <class F>
void for_strips_of_rows(int64_t rows, int64_t columns, const F& f) {
  parallel_ranges(rows, columns, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t first = 0; first < columns; first += kStripSize)
        f(row, first, std::min(kStripSize, columns - first));
    }
  });
}

}  // namespace

void CpuKernels::gated_activation(const Tensor& y, const Tensor& x, Activation kind) {
  dispatch_data_type(x, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t f = y.cols();
    for_strips_of_rows(y.rows(), f, [&](int64_t row, int64_t first, int64_t n) {
      alignas(kVectorBytes) Buffer<C> buffer, active;
      const int64_t gate = row * 2 * f + first;
      activate_strip(active, load_strip(x, gate, n, buffer), n, kind);
      const T* value = x.data<T>() + gate + f;
      T* to = y.data<T>() + row * f + first;
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) to[j] = active[j] * value[j];
    });
  });
}

void CpuKernels::gated_activation_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, Activation kind) {
  dispatch_data_type(x, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t f = dy.cols();
    for_strips_of_rows(dy.rows(), f, [&](int64_t row, int64_t first, int64_t n) {
      alignas(kVectorBytes) Buffer<C> buffer, active, slopes;
      const int64_t gate = row * 2 * f + first;
      const C* at = load_strip(x, gate, n, buffer);
      activate_strip(active, at, n, kind);
      activation_slopes(slopes, at, n, kind);
      const T *g = dy.data<T>() + row * f + first, *value = x.data<T>() + gate + f;
      T *dgate = dx.data<T>() + gate, *dvalue = dgate + f;
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) {
        const C slope = g[j];
        dgate[j] = slope * value[j] * slopes[j];
        dvalue[j] = slope * active[j];
      }
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
