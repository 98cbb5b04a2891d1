// y_ih = factor * x_ih . w_h: one dot product per row i and head h.
#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {

void CpuKernels::head_dot(const Tensor& y, const Tensor& x, const Tensor& w, double factor) {
  dispatch_float(x, [&]<class T>(T) {
    const int64_t heads = y.cols(), width = x.cols() / heads;
    parallel_ranges(y.size(), width, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T *row = x.data<T>() + i * width, *weights = w.data<T>() + i % heads * width;
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t f = 0; f < width; ++f) sum += row[f] * weights[f];
        y.data<T>()[i] = T(factor) * sum;
      }
    });
  });
}

void CpuKernels::head_dot_backward(const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x,
                                   const Tensor& w, double factor) {
  dispatch_float(x, [&]<class T>(T) {
    const int64_t heads = dy.cols(), d = x.cols(), width = d / heads;
    const T* g = dy.data<T>();
    if (dx) {
      parallel_ranges(x.rows(), d, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          for (int64_t f = 0; f < d; ++f)
            dx.data<T>()[i * d + f] = T(factor) * g[i * heads + f / width] * w.data<T>()[f];
      });
    }
    if (!dw) return;
    parallel_ranges(heads, x.rows() * width, [&](int64_t begin, int64_t end) {  // adds the rows in order
      for (int64_t i = 0; i < x.rows(); ++i)
        for (int64_t f = begin * width; f < end * width; ++f)
          dw.data<T>()[f] += T(factor) * g[i * heads + f / width] * x.data<T>()[i * d + f];
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
