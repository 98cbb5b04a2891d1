// What the kernels of attention take, on tensor cores or not: the rows, the rotation, the edge, dropout, and one piece
// of work for each block.
#pragma once

#include <numbers>

#include "core/cuda/attention_terms.h"
#include "core/cuda/context.h"
#include "core/cuda/dispatch.h"

namespace gyre::cuda {

// A tile of rows of one segment and what lies across: rows are queries and the others keys, or the other way round.
struct AttentionWork {
  int32_t first, count;  // the segment's rows
  int32_t first_other, count_other;
  int32_t begin;  // the tile's first row, in the segment
};

enum class WorkChoice : uint8_t { all, fitting, not_fitting };  // segments whose rows and others fit one tile, or not

// What a block of the grid (pieces of work x heads) has: a head of a tile of `tile` rows.
struct BlockWork {
  AttentionWork w;
  int head, count;         // rows in the tile
  int64_t first, feature;  // of the batch: its first row, and the head's first column

  __device__ BlockWork(const AttentionWork* work, int heads, int width, int tile)
      : w(work[blockIdx.x / heads]),
        head(int(blockIdx.x) % heads),
        count(min(tile, w.count - w.begin)),
        first(int64_t(w.first) + w.begin),
        feature(int64_t(head) * width) {}
};

struct WorkList {
  const AttentionWork* items;  // on the GPU
  int64_t count;
};

// The tiles of `tile` rows of all chosen segments, the last of each segment first. Kept for the next layer of the same
// batch.
constexpr int kWholeSegment = 1 << 30;  // a tile that holds any
WorkList attention_work(Context& context, const Segments& rows, const Segments& others, int tile, WorkChoice choice);

// Rows turned by their positions, feature by feature (Kernels::rope).
template <class T>
struct RowTurn {
  const T* angles = nullptr;
  const int32_t* positions = nullptr;  // null: nothing turns
  int dims = 0;
  bool interleaved = false;

  __device__ int partner(int feature) const {
    if (interleaved) return feature ^ 1;
    return feature < dims / 2 ? feature + dims / 2 : feature - dims / 2;
  }
  // The factors of feature f of a row: [f] of itself, [dims + f] of its partner.
  __device__ const T* factors(int64_t row) const { return angles + int64_t(positions[row]) * 2 * dims; }

  // Feature f of row `row`, which lies at x.
  template <class D>
  __device__ T turned(const D* x, int64_t row, int f) const {
    const T value = load(x + f);
    if (!positions || f >= dims) return value;
    const T* c = factors(row);
    return value * c[f] + load(x + partner(f)) * c[dims + f];
  }
  // The way back, of gradients.
  __device__ T turned_back(const T* dy, int64_t row, int f) const {
    if (!positions || f >= dims) return dy[f];
    const T* c = factors(row);
    return dy[f] * c[f] - dy[partner(f)] * c[dims + f];
  }
};

template <class T>
RowTurn<T> row_turn(Context& context, const AttentionRotation& rotation, const Tensor& positions) {
  if (!rotation.angles) return {};
  return {rotation.angles.data<T>(), context.ids(positions), rotation.rotary.dims,
          rotation.rotary.pairs == RotaryPairs::interleaved};
}

// Scores of one head, and dropout on their weights.
template <class T>
struct Scoring {
  int heads, width;
  bool causal;
  T scale, scale_log2;  // scale * log2(e): powers of two are cheaper than those of e
  Dropout dropout;
  T kept;                 // 1 / (1 - rate)
  int64_t key_rows, run;  // weight (head, query, key row) is element (head * key rows + key row) * run + query

  Scoring(const AttentionShape& shape, int64_t width, int64_t key_rows, int longest_queries)
      : heads(shape.heads),
        width(int(width)),
        causal(shape.causal),
        scale(T(shape.scale)),
        scale_log2(T(shape.scale * std::numbers::log2e)),
        dropout(dropout_of(shape.dropout)),
        kept(T(1 / (1 - shape.dropout.rate))),
        key_rows(key_rows),
        run(divide_up(longest_queries, 16) * 16) {}

  __device__ uint64_t element(int head, int64_t key_row, int query) const {
    return uint64_t((head * key_rows + key_row) * run + query);
  }
  __device__ T factor(int head, int64_t key_row, int query) const {
    return dropout.factor(element(head, key_row, query)) > 0 ? kept : T(0);
  }
  // Keys below this are seen by query i of a segment; it may be negative.
  __device__ int edge(int i, int queries, int keys) const { return causal ? min(keys, i + 1 + keys - queries) : keys; }
  // The first query that sees key j.
  __device__ int first_query(int j, int queries, int keys) const { return causal ? max(0, j + queries - keys) : 0; }
};

template <class D>
struct AttentionForward {
  using T = Compute<D>;
  Rows<D> out;
  T* lse;  // may be null
  int64_t query_rows;
  Rows<D> q, k, v;
  RowTurn<T> turn_queries, turn_keys;
  Scoring<T> scoring;
};

// Where gradients go; both may be missing. `exact`: neither turned back nor rounded, for the gradient of frequencies.
template <class D>
struct GradientRows {
  Rows<D> rows;
  Rows<Compute<D>> exact;
  __host__ __device__ explicit operator bool() const { return rows.data || exact.data; }
};

template <class D>
struct AttentionBackward {
  using T = Compute<D>;
  GradientRows<D> dq, dk, dv;
  Rows<D> dout, q, k, v;
  const T* lse;
  T* sums;  // (heads, query rows): D of each query, written by the queries' kernel
  int64_t query_rows;
  RowTurn<T> turn_queries, turn_keys;
  Scoring<T> scoring;
};

constexpr int kWidestHead = 256;

// On plain arithmetic: any type, any width up to kWidestHead.
template <class D>
void run_plain(Context& context, const AttentionForward<D>& a, const OrderTerms<Compute<D>>& order,
               const Segments& queries, const Segments& keys);
template <class D>
void run_plain(Context& context, const AttentionBackward<D>& a, const OrderTerms<Compute<D>>& order,
               const Segments& queries, const Segments& keys);

// Then the gradients of the terms, from the sums that run_plain saved.
template <class D>
void add_term_gradients(Context& context, const AttentionTerms& dterms, const AttentionBackward<D>& a,
                        const OrderTerms<Compute<D>>& order, const Segments& queries, const Segments& keys);

// On the tensor cores: bf16 heads of these widths, to which order adds nothing.
inline bool has_tensor_width(int64_t width) { return width == 32 || width == 64 || width == 128; }
// Calls f with one of them as a constant.
template <class F>
void with_tensor_width(int64_t width, F&& f) {
  if (width == 32) return f(std::integral_constant<int, 32>{});
  if (width == 64) return f(std::integral_constant<int, 64>{});
  f(std::integral_constant<int, 128>{});
}
void run_tensor(Context& context, const AttentionForward<bfloat16>& a, const Segments& queries, const Segments& keys);
void run_tensor(Context& context, const AttentionBackward<bfloat16>& a, const Segments& queries, const Segments& keys);

template <class D>
bool runs_on_tensor_cores(int64_t width, const OrderTerms<Compute<D>>& order) {
  return std::is_same_v<D, bfloat16> && has_tensor_width(width) && !order;
}

// On whichever serves.
template <template <class> class Call, class D>
void run_attention(Context& context, const Call<D>& a, const OrderTerms<Compute<D>>& order, const Segments& queries,
                   const Segments& keys) {
  if constexpr (std::is_same_v<D, bfloat16>) {
    if (runs_on_tensor_cores<D>(a.scoring.width, order)) return run_tensor(context, a, queries, keys);
  }
  run_plain(context, a, order, queries, keys);
}

}  // namespace gyre::cuda
