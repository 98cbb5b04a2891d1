// y_ih = factor * x_ih . w_h: one dot product per row i and head h.
//   dx_ih = factor * dy_ih w_h;  dw_h += factor * sum_i dy_ih x_ih
#include "gyre/core/cuda/columns.h"
#include "gyre/core/cuda/cuda_kernels.h"

namespace gyre::cuda {
namespace {

constexpr int kWarps = 8;  // warps per block

// One warp per dot product.
template <class D, class T = Compute<D>>
__global__ void dot_heads(T* y, const D* x, const T* w, int64_t count, int heads, int width, T factor) {
  const int64_t i = int64_t(blockIdx.x) * kWarps + threadIdx.y;
  if (i >= count) return;
  T sum = 0;
  for (int f = int(threadIdx.x); f < width; f += kWarp) sum += load(x + i * width + f) * w[i % heads * width + f];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[i] = factor * sum;
}

// For each row, stores dx and returns the row's terms of dw for the column sums.
template <class D>
struct HeadDotRows {
  using T = Compute<D>;
  D* dx;  // may be null
  const D* x;
  const T *dy, *w;
  int64_t columns, heads;
  T factor;

  __device__ void take(T (&numbers)[kPackSize<D>], int64_t row, int64_t column, int count) const {
#pragma unroll
    for (int n = 0; n < kPackSize<D>; ++n) {
      numbers[n] = 0;
      if (n >= count) continue;
      const int64_t f = column + n, at = row * columns + f;
      const T g = factor * dy[row * heads + f / (columns / heads)];
      if (dx) store(dx + at, g * w[f]);
      numbers[n] = g * load(x + at);
    }
  }
};

}  // namespace

void CudaKernels::head_dot(const Tensor& y, const Tensor& x, const Tensor& w, double factor) {
  dispatch_data_type(x, [&]<class D>(D) {
    using T = Compute<D>;
    launch(dot_heads<D>, dim3(unsigned(divide_up(y.size(), kWarps))), dim3(kWarp, kWarps), 0, context_.stream(),
           y.data<T>(), x.data<D>(), w.data<T>(), y.size(), int(y.cols()), int(x.cols() / y.cols()), T(factor));
  });
}

void CudaKernels::head_dot_backward(const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x,
                                    const Tensor& w, double factor) {
  dispatch_data_type(x, [&]<class D>(D) {
    using T = Compute<D>;
    add_column_sums<D>(
        context_, dw, x.rows(), x.cols(),
        HeadDotRows<D>{data_or_null<D>(dx), x.data<D>(), dy.data<T>(), w.data<T>(), x.cols(), dy.cols(), T(factor)});
  });
}

}  // namespace gyre::cuda
