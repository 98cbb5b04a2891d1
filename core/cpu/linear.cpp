// y = x w^T + bias;  dx = dy w;  dw += dy^T x;  dbias += sum_rows(dy)
#include <vector>

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/gemm.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

Operand rows(const Tensor& t) { return {t.raw(), t.dtype(), t.cols(), false}; }    // summed over the columns
Operand columns(const Tensor& t) { return {t.raw(), t.dtype(), t.cols(), true}; }  // summed over the rows

// C = A B into a tensor of the sums' type or, rounded block by block, of another.
template <class T>
void product(const Tensor& c, const ProductShape& shape, const Operand& a, const Operand& b) {
  if (c.dtype() == dtype_of<Compute<T>>()) {
    gemm<T>(shape, a, b, {c.data<Compute<T>>(), shape.n, false});
  } else {
    gemm<T>(shape, a, b, {}, [&](const Compute<T>* sums, int64_t ld, const Block& block) {
      for (int64_t i = 0; i < block.rows; ++i) {
        T* to = c.data<T>() + (block.row + i) * shape.n + block.column;
#pragma omp simd
        for (int64_t j = 0; j < block.columns; ++j) to[j] = T(sums[i * ld + j]);
      }
    });
  }
}

// Partial sums over blocks of rows, then over the blocks in order.
template <class T, class S>
void sum_rows(S* dbias, const T* dy, int64_t n, int64_t o) {
  const RowBlocks blocks(n);
  std::vector<S> partial(size_t(blocks.count * o), S(0));
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < blocks.count; ++b) {
    S* sum = partial.data() + b * o;
    for (int64_t i = blocks.begin(b); i < blocks.end(b); ++i) {
#pragma omp simd
      for (int64_t j = 0; j < o; ++j) sum[j] += S(dy[i * o + j]);
    }
  }
  for (int64_t b = 0; b < blocks.count; ++b) {
    for (int64_t j = 0; j < o; ++j) dbias[j] += partial[size_t(b * o + j)];
  }
}

}  // namespace

void CpuKernels::linear(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias) {
  with_data_type(x, [&]<class T>(T) {
    using S = Compute<T>;
    const ProductShape shape{x.rows(), w.dim(0), x.cols()};
    if (!bias) return product<T>(y, shape, rows(x), rows(w));
    const S* b = bias.data<S>();
    T* out = y.data<T>();
    const Sums<T> in_place{std::is_same_v<T, S> ? reinterpret_cast<S*>(out) : nullptr, shape.n, false};
    gemm<T>(shape, rows(x), rows(w), in_place, [&](const S* sums, int64_t ld, const Block& block) {
      for (int64_t i = 0; i < block.rows; ++i) {
        T* to = out + (block.row + i) * shape.n + block.column;
#pragma omp simd
        for (int64_t j = 0; j < block.columns; ++j) to[j] = T(sums[i * ld + j] + b[block.column + j]);
      }
    });
  });
}

void CpuKernels::linear_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy,
                                 const Tensor& x, const Tensor& w) {
  with_data_type(x, [&]<class T>(T) {
    using S = Compute<T>;
    const int64_t n = x.rows(), d = x.cols(), o = w.dim(0);
    if (dx) product<T>(dx, {n, d, o}, rows(dy), columns(w));
    if (dw) gemm<T>({o, d, n}, columns(dy), columns(x), {dw.data<S>(), d, true});
    if (dbias) with_data_type(dy, [&]<class D>(D) { sum_rows(dbias.data<S>(), dy.data<D>(), n, o); });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
