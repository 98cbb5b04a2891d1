// y = x w^T + bias;  dx = dx_before + dy w;  dw += dy^T x;  dbias += sum_rows(dy)
// cublasLt requires a bias of y's type. For bf16 data the bias is rounded, like the weights.
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/gemm/linear.h"
#include "gyre/core/cuda/gemm/product.h"
#include "gyre/core/cuda/gemm/row_passes.h"
#include "gyre/core/cuda/rounding.h"

namespace gyre::cuda {
Tensor in_type(Context& context, const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  require(t.dtype() == DType::f32 && dtype == DType::bf16, "[cuda linear] cannot use ", t.dtype(), " with ", dtype,
          " data");
  const Tensor rounded = context.empty(t.shape(), dtype);
  round_to_bf16(context, rounded, t);
  return rounded;
}

void product_backward(Context& context, const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x,
                      const Tensor& w, const Tensor& dx_before, bool tf32) {
  if (!dx && !dw) return;
  const Tensor g = in_type(context, dy, x.dtype());
  const int64_t o = w.rows();
  if (dx) product(context, dx, rows(g, o), columns(in_type(context, w, x.dtype())), {.add = dx_before, .tf32 = tf32});
  if (dw) product(context, dw, columns(g, o), columns(x), {.add = dw, .tf32 = tf32});
}

void CudaKernels::linear(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias) {
  product(context_, y, rows(x), rows(in_type(context_, w, x.dtype())),
          {.tf32 = tf32_, .bias = bias ? in_type(context_, bias, y.dtype()) : bias});
}

void CudaKernels::symmetric_product(const Tensor& y, const Tensor& x, const Tensor& w) { linear(y, x, w, {}); }

void CudaKernels::linear_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy,
                                  const Tensor& x, const Tensor& w, const Tensor& dx_before) {
  product_backward(context_, dx, dw, dy, x, w, dx_before, tf32_);
  if (dbias) add_row_sums(context_, dbias, dy);
}

}  // namespace gyre::cuda
