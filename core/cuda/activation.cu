// y = act(x);  dx = dy * act'(x)
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/formulas.h"
#include "gyre/core/cuda/map.h"

namespace gyre::cuda {
namespace {

template <class A, class C>
struct Forward {
  __device__ C operator()(C x) const { return A::value(x); }
};

template <class A, class C>
struct Backward {
  __device__ C operator()(C dy, C x) const { return dy * A::derivative(x); }
};

}  // namespace

void CudaKernels::activation(const Tensor& y, const Tensor& x, Activation kind) {
  dispatch_data_type(x, [&]<class T>(T) {
    with_activation(kind, [&]<class A>(A) { map<T>(context_, y, Forward<A, Compute<T>>{}, x); });
  });
}

void CudaKernels::activation_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, Activation kind) {
  dispatch_data_type(x, [&]<class T>(T) {
    with_activation(kind, [&]<class A>(A) { map<T>(context_, dx, Backward<A, Compute<T>>{}, dy, x); });
  });
}

// ---- Gated activations ---------------------------------------------------------------------------------------------
// y = act(gate) * value, x = [gate | value];  dx = [dy * value * act'(gate) | dy * act(gate)]

namespace {

// A thread processes one pack of a row of `columns` elements.
struct GatedRows {
  int64_t rows, columns;
  bool aligned;

  template <class T>
  __host__ __device__ int64_t packs() const {
    return (columns + kPackSize<T> - 1) / kPackSize<T>;
  }
};

// The pack of this thread; no elements beyond the last row.
template <class T>
struct PackOfThread {
  int64_t row, column;
  int count;

  __device__ explicit PackOfThread(const GatedRows& all) {
    const int64_t thread = int64_t(blockIdx.x) * kMapThreads + threadIdx.x, packs = all.packs<T>();
    row = thread / packs;
    column = thread % packs * kPackSize<T>;
    count = row < all.rows ? count_in_pack<T>(column, all.columns) : 0;
  }
};

template <class A, class T>
__global__ void gated_forward(T* y, const T* x, GatedRows all) {
  const PackOfThread<T> own(all);
  if (own.count == 0) return;
  const T* from = x + own.row * 2 * all.columns + own.column;
  const Pack<T> gate = load_pack(from, own.count, all.aligned);
  const Pack<T> value = load_pack(from + all.columns, own.count, all.aligned);
  Compute<T> numbers[kPackSize<T>];
#pragma unroll
  for (int i = 0; i < kPackSize<T>; ++i) numbers[i] = A::value(gate[i]) * value[i];
  store_pack(y + own.row * all.columns + own.column, numbers, own.count, all.aligned);
}

template <class A, class T>
__global__ void gated_backward(T* dx, const T* dy, const T* x, GatedRows all) {
  constexpr int N = kPackSize<T>;
  const PackOfThread<T> own(all);
  if (own.count == 0) return;
  const int64_t first = own.row * 2 * all.columns + own.column;
  const Pack<T> gate = load_pack(x + first, own.count, all.aligned);
  const Pack<T> value = load_pack(x + first + all.columns, own.count, all.aligned);
  const Pack<T> slope = load_pack(dy + own.row * all.columns + own.column, own.count, all.aligned);
  Compute<T> dgate[N], dvalue[N];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    dgate[i] = slope[i] * value[i] * A::derivative(gate[i]);
    dvalue[i] = slope[i] * A::value(gate[i]);
  }
  store_pack(dx + first, dgate, own.count, all.aligned);
  store_pack(dx + first + all.columns, dvalue, own.count, all.aligned);
}

template <class T, class... Tensors>
GatedRows rows_of_units(const Tensor& y, const Tensors&... others) {
  return {y.rows(), y.cols(), y.cols() % kPackSize<T> == 0 && all_aligned(y, others...)};
}

template <class T>
dim3 blocks_of(const GatedRows& all) {
  return dim3(unsigned(divide_up(all.rows * all.packs<T>(), kMapThreads)));
}

}  // namespace

void CudaKernels::gated_activation(const Tensor& y, const Tensor& x, Activation kind) {
  dispatch_data_type(x, [&]<class T>(T) {
    const GatedRows all = rows_of_units<T>(y, x);
    with_activation(kind, [&]<class A>(A) {
      launch(gated_forward<A, T>, blocks_of<T>(all), dim3(kMapThreads), 0, context_.stream(), y.data<T>(), x.data<T>(),
             all);
    });
  });
}

void CudaKernels::gated_activation_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, Activation kind) {
  dispatch_data_type(x, [&]<class T>(T) {
    const GatedRows all = rows_of_units<T>(dy, dx, x);
    with_activation(kind, [&]<class A>(A) {
      launch(gated_backward<A, T>, blocks_of<T>(all), dim3(kMapThreads), 0, context_.stream(), dx.data<T>(),
             dy.data<T>(), x.data<T>(), all);
    });
  });
}

}  // namespace gyre::cuda
