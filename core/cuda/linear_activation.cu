// pre = x w^T + bias;  y = keep act(pre), keep the factors of dropout.
//   dpre = keep act'(pre) dy;  dx = dpre w;  dw += dpre^T x;  dbias += sum_rows(dpre)
// For relu keep act'(pre) is 1 / (1 - rate) where y > 0, and nothing but y is needed.
#include "core/cuda/activations.h"
#include "core/cuda/columns.h"
#include "core/cuda/cuda_kernels.h"
#include "core/cuda/linear.h"
#include "core/cuda/map.h"
#include "core/cuda/product.h"

namespace gyre::cuda {
namespace {

// y = keep act(pre); y may be pre.
template <class A, class T>
__global__ void activate_kernel(T* y, const T* pre, int64_t n, bool aligned, Dropout mask) {
  constexpr int kN = kNeighbours<T>;
  const int64_t first = first_of_thread<T>();
  const int count = count_neighbours<T>(first, n);
  if (count == 0) return;
  const Neighbours<T> before = load_neighbours(pre + first, count, aligned);
  Compute<T> numbers[kN];
  neighbour_factors(numbers, mask, uint64_t(first));
#pragma unroll
  for (int i = 0; i < kN; ++i) numbers[i] *= A::value(before[i]);
  store_neighbours(y + first, numbers, count, aligned);
}

// The rows of dpre: stored, and given as stored for their sums.
template <class A, class T>
struct Derivatives {
  using C = Compute<T>;
  T* dpre;
  const T *dy, *saved;
  int64_t columns;
  bool aligned;
  Dropout mask;  // not for relu: what was dropped is 0 in y
  C kept;

  __device__ void take(C (&numbers)[kNeighbours<T>], int64_t row, int64_t column, int count) const {
    const int64_t first = row * columns + column;
    const Neighbours<T> g = load_neighbours(dy + first, count, aligned);
    const Neighbours<T> at = load_neighbours(saved + first, count, aligned);
    if constexpr (A::kind == Activation::relu) {
#pragma unroll
      for (int i = 0; i < kNeighbours<T>; ++i) numbers[i] = kept;
    } else {
      neighbour_factors(numbers, mask, uint64_t(first));
    }
#pragma unroll
    for (int i = 0; i < kNeighbours<T>; ++i) numbers[i] = g[i] * numbers[i] * A::derivative(at[i]);
    const Neighbours<T> result = rounded<T>(numbers);
    store_neighbours(dpre + first, result, count, aligned);
#pragma unroll
    for (int i = 0; i < kNeighbours<T>; ++i) numbers[i] = result[i];
  }
};

}  // namespace

// relu is part of the product, where nobody wants to know what came before it.
void CudaKernels::linear_activation(const Tensor& y, const Tensor& pre, const Tensor& x, const Tensor& w,
                                    const Tensor& bias, Activation kind, const DropoutMask& mask) {
  const bool relu = kind == Activation::relu && !pre;
  const Tensor& sums = pre ? pre : y;
  product(context_, sums, rows(x), rows(in_type(context_, w, x.dtype())),
          {.tf32 = tf32_, .bias = in_type(context_, bias, y.dtype()), .relu = relu});
  if (relu) return mask.rate > 0 ? dropout(y, y, {}, mask) : void();
  with_data_type(y, [&]<class T>(T) {
    with_activation(kind, [&]<class A>(A) {
      launch(activate_kernel<A, T>, dim3(map_blocks<T>(y.size())), dim3(kMapThreads), 0, context_.stream(), y.data<T>(),
             sums.data<T>(), y.size(), all_aligned(y, sums), dropout_of(mask));
    });
  });
}

void CudaKernels::linear_activation_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy,
                                             const Tensor& x, const Tensor& w, const Tensor& saved, Activation kind,
                                             const DropoutMask& mask) {
  const Tensor dpre = dy.like();
  with_data_type(dy, [&]<class T>(T) {
    with_activation(kind, [&]<class A>(A) {
      const Derivatives<A, T> taken{dpre.data<T>(),
                                    dy.data<T>(),
                                    saved.data<T>(),
                                    dy.cols(),
                                    all_aligned(dpre, dy, saved) && dy.cols() % kNeighbours<T> == 0,
                                    dropout_of(mask),
                                    Compute<T>(1 / (1 - mask.rate))};
      add_column_sums<T>(context_, dbias, dy.rows(), dy.cols(), taken);
    });
  });
  product_backward(context_, dx, dw, dpre, x, w, tf32_);
}

}  // namespace gyre::cuda
