// Passes over rows of logits, one block per row, which it reads only once (online softmax): each thread keeps its
// largest logit so far, and rescales its sum of exp(x_j - largest) at each new maximum.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "gyre/core/cuda/dispatch.h"
#include "gyre/core/cuda/vectors.h"

namespace gyre::cuda {

constexpr int kMaxRowThreads = 1024;

// Number of threads per block, so that each thread loads a few times.
template <class T>
unsigned threads_for(int64_t v) {
  return unsigned(std::clamp<int64_t>(divide_up(v, 4 * kPackSize<T> * kWarp) * kWarp, kWarp, kMaxRowThreads));
}

// The number of elements of a row before the first address that is a multiple of 16 bytes.
template <class T>
__device__ int64_t count_before_aligned(const T* row) {
  return int64_t((16 - reinterpret_cast<uintptr_t>(row) % 16) % 16 / sizeof(T));
}

// The block calls visit(j, x[j ..]) for all elements of a row: N neighbors at a time from element `before` on, and the
// elements before and after these groups one by one. `aligned`: the groups of x are aligned to 16 bytes.
template <int N, class T, class Visit>
__device__ void visit_row(const T* x, int64_t v, int64_t before, bool aligned, Visit& visit) {
  const int64_t thread = threadIdx.x;
  const int64_t first = before < v ? before : v, groups = (v - first) / N, last = first + groups * N;
  if (thread < first) {
    const Compute<T> one[1] = {load(x + thread)};
    visit(thread, one);
  }
#pragma unroll 4
  for (int64_t g = thread; g < groups; g += blockDim.x) {
    Compute<T> values[N];
    load_numbers(values, x + first + g * N, N, aligned);
    visit(first + g * N, values);
  }
  if (last + thread < v) {
    const Compute<T> one[1] = {load(x + last + thread)};
    visit(last + thread, one);
  }
}
template <class T, class Visit>
__device__ void visit_row(const T* x, int64_t v, Visit& visit) {
  visit_row<kPackSize<T>>(x, v, count_before_aligned(x), true, visit);
}

// Visits a row in groups that are aligned in `out`, for visitors that compute out[j] from x[j]; `out` may be x.
template <class T, class Out, class Visit>
__device__ void visit_row(const T* x, const Out* out, int64_t v, Visit& visit) {
  const int64_t before = count_before_aligned(out);
  visit_row<kPackSize<Out>>(x, v, before, is_aligned(x + before), visit);
}
template <class Out, int N>
__device__ void store_visited(Out* to, const Compute<Out> (&x)[N]) {
  if constexpr (N == 1) {
    store(to, x[0]);
  } else {
    store_pack(to, x, N, true);
  }
}

// Running maximum and sums of a row. `largest` starts at the lowest finite number, because the difference of two
// infinities would be NaN.
template <class C>
struct Totals {
  C largest = std::numeric_limits<C>::lowest(), exponentials = 0, sum = 0;

  template <int N>
  __device__ void operator()(int64_t, const C (&x)[N]) {
    C top = x[0];
#pragma unroll
    for (int i = 1; i < N; ++i) top = x[i] > top ? x[i] : top;
    if (top > largest) {
      exponentials *= std::exp(largest - top);
      largest = top;
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
      exponentials += std::exp(x[i] - largest);
      sum += x[i];
    }
  }

  // Combines the totals of all threads of the block. All threads get the result.
  __device__ void add_over_block(C* scratch) {
    const C all = block_max(largest, scratch);
    exponentials = block_sum(exponentials * std::exp(largest - all), scratch);
    sum = block_sum(sum, scratch);
    largest = all;
  }
  __device__ C log_sum_exp() const { return largest + std::log(exponentials); }
};

}  // namespace gyre::cuda
