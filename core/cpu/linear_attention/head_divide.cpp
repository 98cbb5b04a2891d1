// y = a / (b + epsilon), one b per head;  da = dy / (b + epsilon);  db = -(dy . a) / (b + epsilon)^2
#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {

void CpuKernels::head_divide(const Tensor& y, const Tensor& a, const Tensor& b, double epsilon) {
  dispatch_data_type(a, [&]<class D>(D) {
    using T = Compute<D>;
    const int64_t width = a.cols() / b.cols();
    parallel_ranges(b.size(), width, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T inverse = 1 / (b.data<T>()[i] + T(epsilon));
        const D* in = a.data<D>() + i * width;
        D* out = y.data<D>() + i * width;
#pragma omp simd
        for (int64_t f = 0; f < width; ++f) out[f] = T(in[f]) * inverse;
      }
    });
  });
}

void CpuKernels::head_divide_backward(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& a,
                                      const Tensor& b, double epsilon) {
  dispatch_data_type(a, [&]<class D>(D) {
    using T = Compute<D>;
    const int64_t width = a.cols() / b.cols();
    parallel_ranges(b.size(), width, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T inverse = 1 / (b.data<T>()[i] + T(epsilon));
        const D *in = a.data<D>() + i * width, *g = dy.data<D>() + i * width;
        if (da) {
          D* to = da.data<D>() + i * width;
#pragma omp simd
          for (int64_t f = 0; f < width; ++f) to[f] = T(g[f]) * inverse;
        }
        if (!db) continue;
        T dot = 0;
#pragma omp simd reduction(+ : dot)
        for (int64_t f = 0; f < width; ++f) dot += T(g[f]) * T(in[f]);
        db.data<T>()[i] = -dot * inverse * inverse;
      }
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
