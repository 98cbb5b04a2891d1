// Parallel loops over rows, and dispatch on the dtype of data. Results do not depend on the number of threads: one
// thread computes a whole row, and sums over rows are split into blocks whose number depends only on the rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "gyre/core/cpu/vector_type.h"
#include "gyre/core/error.h"
#include "gyre/core/hardware/cpu.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/tensor.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// True if these kernels contain an instruction that multiplies bf16.
#if defined(__AVX512F__) || defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
constexpr bool kMultipliesBf16 = true;
#else
constexpr bool kMultipliesBf16 = false;
#endif

// True if these kernels support bf16: it is emulated, or both they and the CPU have the instruction.
inline bool runs_bf16() { return emulates_bf16() || (kMultipliesBf16 && cpu_has_bf16()); }

// Calls f(begin, end) for ranges that cover [0, n), in parallel if there are enough elements.
template <class F>
void parallel_ranges(int64_t n, int64_t elements_per_item, F&& f) {
  const int64_t grain = std::max<int64_t>(1, worth_a_thread() / std::max<int64_t>(1, elements_per_item));
  const int64_t ranges = (n + grain - 1) / grain;
  if (ranges <= 1) {
    if (n > 0) f(int64_t{0}, n);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < ranges; ++r) f(r * grain, std::min(n, (r + 1) * grain));
}

// Blocks of rows for sums over n rows. The caller adds the partial sums in the order of the blocks.
struct RowBlocks {
  int64_t rows, count, size;
  explicit RowBlocks(int64_t n)
      : rows(n), count(std::min<int64_t>(32, (n + 31) / 32)), size(count ? (n + count - 1) / count : 0) {}
  int64_t begin(int64_t block) const { return std::min(rows, block * size); }
  int64_t end(int64_t block) const { return std::min(rows, (block + 1) * size); }
};

// The type of the arithmetic, the parameters and the statistics for data of type T.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;

// Like dispatch_float(), but also accepts bf16, for data (parameters are never bf16).
template <class F>
auto dispatch_data_type(const Tensor& data, F&& f) {
  if (data.dtype() != DType::bf16) return dispatch_float(data, f);
  require(runs_bf16(), "[cpu kernels] bf16 needs a CPU with ", bf16_extension());
  return f(bfloat16{});
}

template <class T>
T* data_or_null(const Tensor& t) {
  return t ? t.data<T>() : nullptr;
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
