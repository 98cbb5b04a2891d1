// y = x w^T + bias;  dx = dx_before + dy w;  dw += dy^T x;  dbias += sum_rows(dy)
#include "gyre/core/cpu/gemm/linear.h"

#include "gyre/core/cpu/cpu_kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {
void CpuKernels::linear(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias) {
  dispatch_data_type(x, [&]<class T>(T) {
    using S = Compute<T>;
    const ProductShape shape{x.rows(), w.dim(0), x.cols()};
    if (!bias) return product<T>(y, shape, rows(x), rows(w));
    const auto add_bias = [b = bias.data<S>()](auto* to, const S* sums, int64_t, int64_t column, int64_t n) {
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) to[j] = sums[j] + b[column + j];
    };
    if (y.dtype() == dtype_of<S>()) return product_rows<T, S>(y, shape, rows(x), rows(w), add_bias);
    product_rows<T>(y, shape, rows(x), rows(w), add_bias);
  });
}

void CpuKernels::linear_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy,
                                 const Tensor& x, const Tensor& w, const Tensor& dx_before) {
  dispatch_data_type(x, [&]<class T>(T) {
    product_backward<T>(dx, dw, dy, x, w, dx_before);
    if (!dbias) return;
    const int64_t o = w.dim(0);
    dispatch_data_type(dy, [&]<class D>(D) {
      const D* g = dy.data<D>();
      const int64_t stride = dy.cols();
      sum_rows(dbias.data<Compute<T>>(), x.rows(), o, [=](Compute<T>* sum, int64_t row) {
#pragma omp simd
        for (int64_t j = 0; j < o; ++j) sum[j] += Compute<T>(g[row * stride + j]);
      });
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
