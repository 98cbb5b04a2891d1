// y = x w^T + bias;  dx = dy w;  dw += dy^T x;  dbias += sum_rows(dy)
#include <vector>

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/parallel.h"
#include "core/gemm.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class T>
void add_bias(T* y, const T* bias, int64_t n, int64_t o) {
  parallel_ranges(n, o, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
#pragma omp simd
      for (int64_t j = 0; j < o; ++j) y[i * o + j] += bias[j];
    }
  });
}

// Partial sums over blocks of rows, then over the blocks in order.
template <class T>
void sum_rows(T* dbias, const T* dy, int64_t n, int64_t o) {
  const RowBlocks blocks(n);
  std::vector<T> partial(size_t(blocks.count * o), T(0));
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < blocks.count; ++b) {
    T* sum = partial.data() + b * o;
    for (int64_t i = blocks.begin(b); i < blocks.end(b); ++i) {
#pragma omp simd
      for (int64_t j = 0; j < o; ++j) sum[j] += dy[i * o + j];
    }
  }
  for (int64_t b = 0; b < blocks.count; ++b) {
    for (int64_t j = 0; j < o; ++j) dbias[j] += partial[size_t(b * o + j)];
  }
}

}  // namespace

void CpuKernels::linear(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias) {
  with_type(x, [&]<class T>(T) {
    const int64_t n = x.rows(), d = x.cols(), o = w.dim(0);
    gemm(Gemm<T>{n, o, d, x.data<T>(), d, false, w.data<T>(), d, true, T(0), y.data<T>(), o});
    if (bias) add_bias(y.data<T>(), bias.data<T>(), n, o);
  });
}

void CpuKernels::linear_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy,
                                 const Tensor& x, const Tensor& w) {
  with_type(x, [&]<class T>(T) {
    const int64_t n = x.rows(), d = x.cols(), o = w.dim(0);
    if (dx) gemm(Gemm<T>{n, d, o, dy.data<T>(), o, false, w.data<T>(), d, false, T(0), dx.data<T>(), d});
    if (dw) gemm(Gemm<T>{o, d, n, dy.data<T>(), o, true, x.data<T>(), d, false, T(1), dw.data<T>(), d});
    if (dbias) sum_rows(dbias.data<T>(), dy.data<T>(), n, o);
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
