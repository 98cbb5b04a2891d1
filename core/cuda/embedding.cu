// y = factor * table[ids], zeros for an id of -1;  dtable[id] += factor * sum of dy over the rows with that id.
// Backward sorts the rows by id on the host and splits them into pieces of a few rows with the same id. A warp adds the
// rows of a piece in order. The sums of ids with several pieces are added in a second pass. Without pieces, a frequent
// id would be one long serial sum.
#include <vector>

#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/vectors.h"

namespace gyre::cuda {
namespace {

constexpr int kWarps = 8;         // warps per block
constexpr int kRowsOfPiece = 32;  // maximum; added serially, which takes a few microseconds

// One warp per row. `aligned` is a template parameter, here and below, because loads overlap only if there is no branch
// between them.
template <class T, class P, bool aligned, class C = Compute<T>>
__global__ void gather(T* y, const P* table, const int32_t* ids, int64_t n, int64_t d, C factor) {
  constexpr int N = kPackSize<T>;
  const int64_t row = int64_t(blockIdx.x) * kWarps + threadIdx.y;
  if (row >= n) return;
  const bool none = ids[row] < 0;  // the row gets zeros, without a branch around the loads
  const P* from = table + (none ? 0 : int64_t(ids[row])) * d;
#pragma unroll 4
  for (int64_t j = int64_t(threadIdx.x) * N; j < d; j += kWarp * N) {
    const int count = aligned ? N : count_in_pack<T>(j, d);
    C numbers[N];
    load_numbers(numbers, from + j, count, aligned);
#pragma unroll
    for (int i = 0; i < N; ++i) numbers[i] = none ? C(0) : numbers[i] * factor;
    store_pack(y + row * d + j, numbers, count, aligned);
  }
}

struct Piece {
  int32_t id, begin, end;  // rows[begin] .. rows[end - 1]
  int32_t slot;            // row of the buffer for its sum; -1: the sum is added to the table
};
// An id with several pieces.
struct Split {
  int32_t id, slot, pieces;
};

// The schedule of backward, in one i32 tensor: [rows sorted by id | pieces | splits].
struct Plan {
  Tensor words;
  int64_t rows = 0, pieces = 0, splits = 0, slots = 0;
};

std::vector<int32_t> starts_of_ids(const int32_t* ids, int64_t n, int64_t v) {
  std::vector<int32_t> start(size_t(v) + 1, 0);
  for (int64_t i = 0; i < n; ++i) {
    if (ids[i] >= 0) ++start[size_t(ids[i]) + 1];
  }
  for (size_t k = 0; k < size_t(v); ++k) start[k + 1] += start[k];
  return start;
}

Plan plan_for(const int32_t* ids, int64_t n, int64_t v) {
  std::vector<int32_t> start = starts_of_ids(ids, n, v);
  std::vector<Piece> pieces;
  std::vector<Split> splits;
  int32_t slots = 0;
  for (int64_t k = 0; k < v; ++k) {
    const int32_t begin = start[size_t(k)], end = start[size_t(k) + 1];
    const bool split = end - begin > kRowsOfPiece;
    const int32_t first_slot = slots;
    for (int32_t b = begin; b < end; b += kRowsOfPiece) {
      pieces.push_back({int32_t(k), b, std::min(b + kRowsOfPiece, end), split ? slots++ : -1});
    }
    if (split) splits.push_back({int32_t(k), first_slot, slots - first_slot});
  }
  Plan plan{{}, n, int64_t(pieces.size()), int64_t(splits.size()), slots};
  plan.words = Tensor::empty({n + 4 * plan.pieces + 3 * plan.splits}, DType::i32);
  int32_t* rows = plan.words.data<int32_t>();
  for (int64_t i = 0; i < n; ++i) {
    if (ids[i] >= 0) rows[start[size_t(ids[i])]++] = int32_t(i);
  }
  std::copy(pieces.begin(), pieces.end(), reinterpret_cast<Piece*>(rows + n));
  std::copy(splits.begin(), splits.end(), reinterpret_cast<Split*>(rows + n + 4 * plan.pieces));
  return plan;
}

// A warp processes a chunk of columns. first_column(): the first column of the calling lane in the chunk.
template <class T>
constexpr int kChunk = kWarp* kPackSize<T>;
template <class T>
__device__ int64_t first_column(int64_t chunk) {
  return chunk * kChunk<T> + threadIdx.x * kPackSize<T>;
}

template <bool aligned, class P, int N, class C>
__device__ void add_to_table(P* to, const C (&sums)[N], int count, C factor) {
  C values[N];
  load_numbers(values, to, count, aligned);
#pragma unroll
  for (int i = 0; i < N; ++i) values[i] += factor * sums[i];
  store_numbers(to, values, count, aligned);
}

// One warp per piece and chunk of columns.
template <class T, class P, bool aligned, class C = Compute<T>>
__global__ void add_pieces(P* dtable, C* slots, const T* dy, const int32_t* rows, const Piece* pieces, int64_t jobs,
                           int64_t chunks, int64_t d, C factor) {
  const int64_t job = int64_t(blockIdx.x) * kWarps + threadIdx.y;
  if (job >= jobs) return;
  const Piece piece = pieces[job / chunks];
  constexpr int N = kPackSize<T>;
  const int64_t column = first_column<T>(job % chunks);
  if (column >= d) return;
  const int count = aligned ? N : count_in_pack<T>(column, d);
  C sums[N] = {};
#pragma unroll 4
  for (int32_t r = piece.begin; r < piece.end; ++r) {
    C values[N];
    load_numbers(values, dy + int64_t(rows[r]) * d + column, count, aligned);
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] += values[i];
  }
  if (piece.slot < 0) {
    add_to_table<aligned>(dtable + int64_t(piece.id) * d + column, sums, count, factor);
  } else {
    store_numbers(slots + int64_t(piece.slot) * d + column, sums, count, aligned);
  }
}

// One block per split id and chunk of columns. Each warp adds every kWarps-th slot, and the first warp adds the sums of
// the warps.
template <class T, class P, bool aligned, class C = Compute<T>>
__global__ void add_slots(P* dtable, const C* slots, const Split* splits, int64_t chunks, int64_t d, C factor) {
  constexpr int N = kPackSize<T>;
  __shared__ C of_warps[kWarps][kWarp][N];
  const Split split = splits[blockIdx.x / chunks];
  const int64_t column = first_column<T>(blockIdx.x % chunks);
  const int count = aligned ? N : count_in_pack<T>(column, d);
  C sums[N] = {};
  if (column < d) {
#pragma unroll 4
    for (int32_t s = int32_t(threadIdx.y); s < split.pieces; s += kWarps) {
      C values[N];
      load_numbers(values, slots + int64_t(split.slot + s) * d + column, count, aligned);
#pragma unroll
      for (int i = 0; i < N; ++i) sums[i] += values[i];
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i) of_warps[threadIdx.y][threadIdx.x][i] = sums[i];
  __syncthreads();
  if (threadIdx.y != 0 || column >= d) return;
  for (int w = 1; w < kWarps; ++w) {
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] += of_warps[w][threadIdx.x][i];
  }
  add_to_table<aligned>(dtable + int64_t(split.id) * d + column, sums, count, factor);
}

// Calls f(T{}, P{}), T the type of the data and P that of the table, which is a parameter or data.
template <class F>
void with_types(const Tensor& data, const Tensor& table, F&& f) {
  dispatch_data_type(data, [&]<class T>(T) {
    if (table.dtype() == dtype_of<Compute<T>>()) return f(T{}, Compute<T>{});
    require(table.dtype() == dtype_of<T>(), "[cuda embedding] expected a table of ", dtype_of<Compute<T>>(), " or ",
            dtype_of<T>(), ", got ", table.dtype());
    f(T{}, T{});
  });
}

template <class T, class P>
void scatter(Context& context, const Tensor& dtable, const Tensor& dy, const Plan& plan, Compute<T> factor) {
  using C = Compute<T>;
  const int64_t d = dtable.cols();
  const int32_t* rows = context.ids(plan.words);
  const auto* pieces = reinterpret_cast<const Piece*>(rows + plan.rows);
  const auto* splits = reinterpret_cast<const Split*>(rows + plan.rows + 4 * plan.pieces);
  const Tensor slots = context.empty({plan.slots, d}, dtype_of<C>());
  const bool aligned = has_aligned_rows(dy.data<T>(), d) && all_aligned(dtable);
  const auto pieces_kernel = aligned ? add_pieces<T, P, true> : add_pieces<T, P, false>;
  const auto slots_kernel = aligned ? add_slots<T, P, true> : add_slots<T, P, false>;
  const int64_t chunks = divide_up(d, kChunk<T>), jobs = plan.pieces * chunks;
  const dim3 block(kWarp, kWarps);
  launch(pieces_kernel, dim3(unsigned(divide_up(jobs, kWarps))), block, 0, context.stream(), dtable.data<P>(),
         slots.data<C>(), dy.data<T>(), rows, pieces, jobs, chunks, d, factor);
  launch(slots_kernel, dim3(unsigned(plan.splits * chunks)), block, 0, context.stream(), dtable.data<P>(),
         slots.data<C>(), splits, chunks, d, factor);
}

}  // namespace

void CudaKernels::embedding(const Tensor& y, const Tensor& table, const Tensor& ids, double factor) {
  const int64_t n = ids.size(), d = table.cols();
  if (table.size() == 0) return y.zero();
  with_types(y, table, [&]<class T, class P>(T, P) {
    const auto kernel =
        has_aligned_rows(y.data<T>(), d) && all_aligned(table) ? gather<T, P, true> : gather<T, P, false>;
    launch(kernel, dim3(unsigned(divide_up(n, kWarps))), dim3(kWarp, kWarps), 0, context_.stream(), y.data<T>(),
           table.data<P>(), context_.ids(ids), n, d, Compute<T>(factor));
  });
}

void CudaKernels::embedding_backward(const Tensor& dtable, const Tensor& dy, const Tensor& ids, double factor) {
  if (ids.size() == 0) return;
  const Plan plan = plan_for(ids.data<int32_t>(), ids.size(), dtable.dim(0));
  with_types(dy, dtable,
             [&]<class T, class P>(T, P) { scatter<T, P>(context_, dtable, dy, plan, Compute<T>(factor)); });
}

}  // namespace gyre::cuda
