// y = x w^T + bias;  dx = dy w;  dw += dy^T x;  dbias += sum_rows(dy)
// cublasLt requires a bias of y's type. For bf16 data the bias is rounded, like the weights.
#include "gyre/core/cuda/columns.h"
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/gemm/linear.h"
#include "gyre/core/cuda/gemm/product.h"
#include "gyre/core/cuda/map.h"
#include "gyre/core/cuda/rounding.h"

namespace gyre::cuda {
namespace {

// The rows of a tensor as input of add_column_sums().
template <class T>
struct PlainRows {
  const T* data;
  int64_t columns;
  bool aligned;

  __device__ void take(Compute<T> (&numbers)[kPackSize<T>], int64_t row, int64_t column, int count) const {
    load_numbers(numbers, data + row * columns + column, count, aligned);
  }
};

}  // namespace

Tensor in_type(Context& context, const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  require(t.dtype() == DType::f32 && dtype == DType::bf16, "[cuda linear] cannot use ", dtype_name(t.dtype()), " with ",
          dtype_name(dtype), " data");
  const Tensor rounded = context.empty(t.shape(), dtype);
  round_to_bf16(context, rounded, t);
  return rounded;
}

void product_backward(Context& context, const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x,
                      const Tensor& w, bool tf32) {
  if (!dx && !dw) return;
  const Tensor g = in_type(context, dy, x.dtype());
  if (dx) product(context, dx, rows(g), columns(in_type(context, w, x.dtype())), {.tf32 = tf32});
  if (dw) product(context, dw, columns(g), columns(x), {.accumulate = true, .tf32 = tf32});
}

void CudaKernels::linear(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias) {
  product(context_, y, rows(x), rows(in_type(context_, w, x.dtype())),
          {.tf32 = tf32_, .bias = bias ? in_type(context_, bias, y.dtype()) : bias});
}

void CudaKernels::linear_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy,
                                  const Tensor& x, const Tensor& w) {
  product_backward(context_, dx, dw, dy, x, w, tf32_);
  if (!dbias) return;
  dispatch_data_type(dy, [&]<class T>(T) {
    const PlainRows<T> taken{dy.data<T>(), dy.cols(), has_aligned_rows(dy.data<T>(), dy.cols())};
    add_column_sums<T>(context_, dbias, dy.rows(), dy.cols(), taken);
  });
}

}  // namespace gyre::cuda
