// Loops over rows, shared between threads. The split never changes a result: a row is computed by one thread from start
// to end, and sums over rows are taken over blocks whose number depends on the rows alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/dispatch.h"
#include "core/error.h"
#include "core/kernels.h"
#include "core/tensor.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Whether these kernels may be given bf16: those for AVX-512 use the instruction of AVX512-BF16.
inline bool runs_bf16() {
  return emulates_bf16() || (__BIGGEST_ALIGNMENT__ == 64 && __builtin_cpu_supports("avx512bf16"));
}

// Calls f(begin, end) for ranges that cover [0, n), in parallel when the work (elements) is worth a thread.
template <class F>
void parallel_ranges(int64_t n, int64_t elements_per_item, F&& f) {
  constexpr int64_t kWorthAThread = 16384;
  const int64_t grain = std::max<int64_t>(1, kWorthAThread / std::max<int64_t>(1, elements_per_item));
  const int64_t ranges = (n + grain - 1) / grain;
  if (ranges <= 1) {
    if (n > 0) f(int64_t{0}, n);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < ranges; ++r) f(r * grain, std::min(n, (r + 1) * grain));
}

// Blocks for sums over n rows: their partial results are added one after another.
struct RowBlocks {
  int64_t rows, count, size;
  explicit RowBlocks(int64_t n)
      : rows(n), count(std::min<int64_t>(32, (n + 31) / 32)), size(count ? (n + count - 1) / count : 0) {}
  int64_t begin(int64_t block) const { return std::min(rows, block * size); }
  int64_t end(int64_t block) const { return std::min(rows, (block + 1) * size); }
};

// The type of the arithmetic, of parameters and of statistics beside data of type T.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;

// As with_type(), for data, which may be bf16 too; parameters are not.
template <class F>
auto with_data_type(const Tensor& data, F&& f) {
  if (data.dtype() != DType::bf16) return with_type(data, f);
  require(runs_bf16(), "[cpu kernels] bf16 needs a CPU with AVX512-BF16");
  return f(bfloat16{});
}

template <class T>
T* data_or_null(const Tensor& t) {
  return t ? t.data<T>() : nullptr;
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
