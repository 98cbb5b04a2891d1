// y = x w^T where the product is symmetric: the lower triangle is computed and copied to the upper one.
#include <algorithm>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/gemm/linear.h"
#include "gyre/core/cpu/parallel.h"
#include "gyre/core/cpu/transpose.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// Transposes the block of lanes x lanes at `from` in registers and writes it at `to`.
template <class T>
void copy_transposed(T* to, const T* from, int64_t stride) {
  using V = typename VectorOf<T>::type;
  V block[kLanes<T>];
  for (int64_t i = 0; i < kLanes<T>; ++i) block[i] = *reinterpret_cast<const V*>(from + i * stride);
  transpose<T>(block);
  for (int64_t i = 0; i < kLanes<T>; ++i) *reinterpret_cast<V*>(to + i * stride) = block[i];
}

// y[i][j] = y[j][i] for j > i, in blocks of lanes x lanes.
template <class T>
void mirror_lower_triangle(T* y, int64_t n) {
  constexpr int64_t lanes = kLanes<T>;
  parallel_ranges((n + lanes - 1) / lanes, n * lanes / 2, [=](int64_t first, int64_t last) {
    for (int64_t row = first * lanes; row < std::min(n, last * lanes); row += lanes) {
      for (int64_t column = row; column < n; column += lanes) {
        if (column > row && column + lanes <= n) {
          copy_transposed(y + row * n + column, y + column * n + row, n);
          continue;
        }
        for (int64_t i = row; i < std::min(n, row + lanes); ++i) {
          for (int64_t j = std::max(i + 1, column); j < std::min(n, column + lanes); ++j) y[i * n + j] = y[j * n + i];
        }
      }
    }
  });
}

}  // namespace

void CpuKernels::symmetric_product(const Tensor& y, const Tensor& x, const Tensor& w) {
  const int64_t n = y.rows();
  dispatch_data_type(x, [&]<class T>(T) {
    auto* const sums = y.data<Compute<T>>();
    gemm<T>({n, n, x.cols()}, rows(x), rows(w), {.c = sums, .ldc = n, .lower_triangle = true});
    mirror_lower_triangle(sums, n);
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
