// Loops over the rows of a matrix in which each thread processes the same few neighboring columns of all its rows. A
// thread loads a bias of its columns once, and sums its columns over its rows.
#pragma once

#include <algorithm>

#include "gyre/core/cuda/dispatch.h"
#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/cuda/runtime/launch.h"
#include "gyre/core/cuda/vectors.h"
#include "gyre/core/kernels/gpu_blocks.h"

namespace gyre::cuda {

// A block processes blockDim.y * rows_each rows and blockDim.x * kPackSize columns.
struct ColumnWalk {
  dim3 grid, block;
  int64_t rows, columns;
  int rows_each;
};

template <class T>
ColumnWalk walk_columns(int64_t rows, int64_t columns) {
  const ColumnBlocks blocks = column_blocks(rows, divide_up(columns, kPackSize<T>));
  return {dim3(unsigned(blocks.rows), unsigned(blocks.columns)), dim3(unsigned(blocks.across), unsigned(blocks.down)),
          rows, columns, int(blocks.rows_each)};
}

// The first column of the calling thread; it may be beyond the last column of the matrix.
template <class T>
__device__ inline int64_t own_column() {
  return (int64_t(blockIdx.y) * blockDim.x + threadIdx.x) * kPackSize<T>;
}

// Calls f(row) for each row of the calling thread.
template <class F>
__device__ inline void for_own_rows(const ColumnWalk& walk, F&& f) {
  const int64_t first = int64_t(blockIdx.x) * blockDim.y * walk.rows_each + threadIdx.y;
  const int64_t last = first + int64_t(blockDim.y) * walk.rows_each;
  for (int64_t row = first; row < last && row < walk.rows; row += blockDim.y) f(row);
}

// partial(blocks of rows, columns) = sums over the rows of each block. rows.take(numbers, row, column, count) returns
// the summands of `count` columns from `column` on. If `partial` is null, nothing is summed, but rows.take() is still
// called for its side effects.
template <class T, class Rows>
__global__ void partial_sums_kernel(Compute<T>* partial, ColumnWalk walk, Rows rows) {
  using C = Compute<T>;
  constexpr int kN = kPackSize<T>;
  const int64_t column = own_column<T>();
  const int count = count_in_pack<T>(column, walk.columns);
  C sums[kN] = {};
  if (count > 0) {
    for_own_rows(walk, [&](int64_t row) {
      C numbers[kN];
      rows.take(numbers, row, column, count);
#pragma unroll
      for (int i = 0; i < kN; ++i) sums[i] += numbers[i];
    });
  }
  if (!partial) return;
  // Indexed by neighbor first, so that the threads of a warp store to consecutive addresses.
  C* shared = shared_memory<C>();
  const int threads = int(blockDim.x * blockDim.y), thread = int(threadIdx.y * blockDim.x + threadIdx.x);
#pragma unroll
  for (int i = 0; i < kN; ++i) shared[i * threads + thread] = sums[i];
  __syncthreads();
  if (threadIdx.y > 0) return;
#pragma unroll
  for (int i = 0; i < kN; ++i) {
    if (i >= count) break;
    C sum = shared[i * threads + thread];
    for (int y = 1; y < int(blockDim.y); ++y) sum += shared[i * threads + y * int(blockDim.x) + thread];
    partial[int64_t(blockIdx.x) * walk.columns + column + i] = sum;
  }
}

// Destination of sums of columns: up to three tensors, for `columns` columns each. Each may be null.
template <class T>
struct ColumnSums {
  T* to[3];
  int64_t columns;
  __device__ T* of(int64_t column) const {
    // The constant indices keep `to` in the parameters of the kernel, instead of a copy on the stack.
    T* sums = to[0];
    int64_t left = column;
#pragma unroll
    for (int i = 1; i < 3; ++i) {
      if (column < i * columns) break;
      sums = to[i];
      left = column - i * columns;
    }
    return sums ? sums + left : nullptr;
  }
};

// sums(columns) += partial(count, columns), summed over the rows in a fixed order.
constexpr int kPartialLanes = 32;
template <class T, class C>
__global__ void add_partials_kernel(ColumnSums<T> sums, const C* partial, int64_t count, int64_t columns) {
  __shared__ C lanes[kPartialLanes][kWarp];
  const int64_t column = int64_t(blockIdx.x) * kWarp + threadIdx.x;
  C own = 0;
  if (column < columns) {
    for (int64_t i = threadIdx.y; i < count; i += kPartialLanes) own += partial[i * columns + column];
  }
  lanes[threadIdx.y][threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.y > 0 || column >= columns) return;
  for (int lane = 1; lane < kPartialLanes; ++lane) own += lanes[lane][threadIdx.x];
  if (T* sum = sums.of(column)) *sum += T(own);
}

template <class C, class T>
void add_partials(Context& context, const ColumnSums<T>& sums, const Tensor& partial) {
  const int64_t count = partial.shape()[0], columns = partial.size() / count;
  launch(add_partials_kernel<T, C>, dim3(unsigned(divide_up(columns, kWarp))), dim3(kWarp, kPartialLanes), 0,
         context.stream(), sums, partial.data<C>(), count, columns);
}

// sum(columns) += sums over the rows of the values of rows.take(). If `sum` is undefined, only calls rows.take().
template <class T, class Rows>
void add_column_sums(Context& context, const Tensor& sum, int64_t rows, int64_t columns, const Rows& taken) {
  using C = Compute<T>;
  const ColumnWalk walk = walk_columns<T>(rows, columns);
  if (walk.grid.x == 0) return;
  const Tensor partial = sum ? context.empty({int64_t(walk.grid.x), columns}, dtype_of<C>()) : Tensor();
  const size_t shared = size_t(walk.block.x) * walk.block.y * kPackSize<T> * sizeof(C);
  launch(partial_sums_kernel<T, Rows>, walk.grid, walk.block, shared, context.stream(), data_or_null<C>(partial), walk,
         taken);
  if (sum) add_partials<C>(context, ColumnSums<C>{{sum.data<C>()}, columns}, partial);
}

}  // namespace gyre::cuda
