// y = x w^T + bias;  dx = dx_before + dy w;  dw += dy^T x;  dbias += sum_rows(dy)
// cublasLt requires a bias of y's type. For bf16 data the bias is rounded, like the weights.
#include "gyre/core/cuda/columns.h"
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/formulas.h"
#include "gyre/core/cuda/gemm/product.h"
#include "gyre/core/cuda/gemm/row_passes.h"
#include "gyre/core/cuda/map.h"
#include "gyre/core/cuda/runtime/context.h"

namespace gyre::cuda {
namespace {

// Returns t if it has the dtype, or a copy of an f32 tensor rounded to bf16.
Tensor in_type(Context& context, const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  require(t.dtype() == DType::f32 && dtype == DType::bf16, "[cuda linear] cannot use ", t.dtype(), " with ", dtype,
          " data");
  const Tensor rounded = context.empty(t.shape(), dtype);
  convert(context, rounded, t);
  return rounded;
}

// dx = dx_before + dy w;  dw += dy^T x. An undefined dx or dw is not computed; dx_before may be undefined.
void product_backward(Context& context, const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x,
                      const Tensor& w, const Tensor& dx_before, bool tf32) {
  if (!dx && !dw) return;
  const Tensor g = in_type(context, dy, x.dtype());
  const int64_t o = w.rows();
  if (dx) product(context, dx, rows(g, o), columns(in_type(context, w, x.dtype())), {.add = dx_before, .tf32 = tf32});
  if (dw) product(context, dw, columns(g, o), columns(x), {.add = dw, .tf32 = tf32});
}

}  // namespace

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

void CudaKernels::matmul(const Tensor& y, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  if (y.size() == 0) return;
  if (a.size() == 0) return y.zero();
  const DType dtype = a.dtype() == DType::bf16 ? a.dtype() : b.dtype();
  const Tensor x = in_type(context_, a, dtype), w = in_type(context_, b, dtype);
  const auto operand = [](const Tensor& t, bool over_rows) { return over_rows ? columns(t) : rows(t); };
  product(context_, y, operand(x, transpose_a), operand(w, !transpose_b), {.tf32 = tf32_});
}

// ---- A linear layer with an activation and dropout -----------------------------------------------------------------
// pre = x w^T + bias;  y = keep act(pre), with keep the dropout factors.
//   dpre = keep act'(pre) dy;  dx = dx_before + dpre w;  dw += dpre^T x;  dbias += sum_rows(dpre)
// For relu, keep act'(pre) is 1 / (1 - rate) if y > 0, otherwise 0, so that only y is saved.

namespace {

// y = keep act(pre); y may be pre.
template <class A, class T>
__global__ void activate_kernel(T* y, const T* pre, int64_t n, bool aligned, Dropout mask) {
  constexpr int kN = kPackSize<T>;
  const int64_t first = first_of_thread<T>();
  const int count = count_in_pack<T>(first, n);
  if (count == 0) return;
  const Pack<T> before = load_pack(pre + first, count, aligned);
  Compute<T> numbers[kN];
  pack_factors(numbers, mask, uint64_t(first));
#pragma unroll
  for (int i = 0; i < kN; ++i) numbers[i] *= A::value(before[i]);
  store_pack(y + first, numbers, count, aligned);
}

// Computes and stores the rows of dpre, and returns them, rounded as stored, for the column sums.
template <class A, class T>
struct Derivatives {
  using C = Compute<T>;
  T* dpre;
  const T *dy, *saved;
  int64_t columns;
  bool aligned;
  Dropout mask;  // unused for relu, because dropped elements are 0 in y
  C kept;

  __device__ void take(C (&numbers)[kPackSize<T>], int64_t row, int64_t column, int count) const {
    const int64_t first = row * columns + column;
    const Pack<T> g = load_pack(dy + first, count, aligned);
    const Pack<T> at = load_pack(saved + first, count, aligned);
    if constexpr (A::kind == Activation::relu) {
#pragma unroll
      for (int i = 0; i < kPackSize<T>; ++i) numbers[i] = kept;
    } else {
      pack_factors(numbers, mask, uint64_t(first));
    }
#pragma unroll
    for (int i = 0; i < kPackSize<T>; ++i) numbers[i] = g[i] * numbers[i] * A::derivative(at[i]);
    const Pack<T> result = rounded<T>(numbers);
    store_pack(dpre + first, result, count, aligned);
#pragma unroll
    for (int i = 0; i < kPackSize<T>; ++i) numbers[i] = result[i];
  }
};

}  // namespace

// relu is fused into the product if there is a bias and pre is not needed.
void CudaKernels::linear_activation(const Tensor& y, const Tensor& pre, const Tensor& x, const Tensor& w,
                                    const Tensor& bias, Activation kind, const DropoutMask& mask) {
  const bool relu = kind == Activation::relu && !pre && bias;
  const Tensor& sums = pre ? pre : y;
  product(context_, sums, rows(x), rows(in_type(context_, w, x.dtype())),
          {.tf32 = tf32_, .bias = bias ? in_type(context_, bias, y.dtype()) : bias, .relu = relu});
  if (relu) return mask.rate > 0 ? dropout(y, y, {}, mask) : void();
  dispatch_data_type(y, [&]<class T>(T) {
    with_activation(kind, [&]<class A>(A) {
      launch(activate_kernel<A, T>, dim3(map_blocks<T>(y.size())), dim3(kMapThreads), 0, context_.stream(), y.data<T>(),
             sums.data<T>(), y.size(), all_aligned(y, sums), dropout_of(mask));
    });
  });
}

void CudaKernels::linear_activation_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy,
                                             const Tensor& x, const Tensor& w, const Tensor& saved,
                                             const Tensor& dx_before, Activation kind, const DropoutMask& mask) {
  const Tensor dpre = dy.like();
  dispatch_data_type(dy, [&]<class T>(T) {
    with_activation(kind, [&]<class A>(A) {
      const Derivatives<A, T> taken{dpre.data<T>(),
                                    dy.data<T>(),
                                    saved.data<T>(),
                                    dy.cols(),
                                    all_aligned(dpre, dy, saved) && dy.cols() % kPackSize<T> == 0,
                                    dropout_of(mask),
                                    Compute<T>(1 / (1 - mask.rate))};
      add_column_sums<T>(context_, dbias, dy.rows(), dy.cols(), taken);
    });
  });
  product_backward(context_, dx, dw, dpre, x, w, dx_before, tf32_);
}

}  // namespace gyre::cuda
