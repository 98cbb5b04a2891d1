// Arguments of the attention kernels, with and without tensor cores: rows, rotation, mask, dropout, and one work item
// per block.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <numbers>

#include "gyre/core/cuda/dispatch.h"
#include "gyre/core/cuda/formulas.h"
#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/cuda/vectors.h"
#include "gyre/core/kernels/gpu_blocks.h"

namespace gyre::cuda {

// ---- Relative-position terms of attention (PositionTables) and the window, for device code -----------------------

// A table with one row per distance or position. Each head has separate columns, or all heads share the same ones.
template <class T>
struct HeadTable {
  const T* data = nullptr;
  int64_t rows = 0, stride = 0, step = 0;  // stride from row to row, step from head to head

  HeadTable() = default;
  HeadTable(const Tensor& table, int64_t width) {
    if (!table) return;
    data = table.data<T>();
    rows = table.rows();
    stride = table.cols();
    step = stride == width ? 0 : width;
  }
  __host__ __device__ explicit operator bool() const { return data; }
  // Null if the table has no such row.
  __device__ const T* row(int64_t index, int head) const {
    return index >= 0 && index < rows ? data + index * stride + head * step : nullptr;
  }
};

template <class T>
struct PositionTableRows {
  static constexpr int kUnlimited = 1 << 29;  // longer than any segment

  HeadTable<T> bias, query, key, value;  // one row per distance
  HeadTable<T> pos_queries, pos_keys;    // one row per position
  int zero_offset = 0, pos_width = 0, window = kUnlimited;
  bool active = false;  // whether there is a term, or the window is shorter than a segment

  PositionTableRows() = default;
  // `longest`: length of the longest segment of queries and keys.
  PositionTableRows(const PositionTables& terms, const AttentionShape& shape, int64_t width, int longest)
      : bias(terms.bias, 1),
        query(terms.query_table, width),
        key(terms.key_table, width),
        value(terms.value_table, width),
        zero_offset(int(terms.zero_offset)),
        window(int(std::min<int64_t>(shape.window, kUnlimited))),
        active(terms || shape.window < longest - 1) {
    if (!terms.pos_queries) return;
    pos_width = int(terms.pos_queries.cols() / shape.heads);
    pos_queries = {terms.pos_queries, pos_width};
    pos_keys = {terms.pos_keys, pos_width};
  }
  __host__ __device__ explicit operator bool() const { return active; }
  // True if there are tables of vectors, not only a bias.
  bool has_vectors() const { return query || key || value || pos_queries; }

  __device__ T bias_of(int64_t distance, int head) const {
    const T* row = bias.row(zero_offset + distance, head);
    return row ? *row : T(0);
  }
};

// Work item: a tile of rows of one segment, and the segment of the other side. The rows are queries and the others
// keys, or vice versa.
struct AttentionWork {
  int32_t first, count;              // rows of the segment
  int32_t first_other, count_other;  // rows of the other side
  int32_t begin;                     // first row of the tile, in the segment
};

// Selects all segments, or those whose rows or others do not fit into one tile of kTileRows rows.
enum class SegmentFilter : uint8_t { all, not_fitting };

// The work of a block of the grid (work items x heads): one head of a tile of `tile` rows.
struct BlockWork {
  AttentionWork w;
  int head, count;         // count: rows in the tile
  int64_t first, feature;  // first row of the tile in the batch, first column of the head

  __device__ BlockWork(const AttentionWork* work, int heads, int width, int tile)
      : w(work[blockIdx.x / heads]),
        head(int(blockIdx.x) % heads),
        count(min(tile, w.count - w.begin)),
        first(int64_t(w.first) + w.begin),
        feature(int64_t(head) * width) {}
};

struct WorkList {
  const AttentionWork* items;  // array in device memory
  int64_t count;               // blocks per head
};

constexpr int kWholeSegment = 1 << 30;  // a tile size larger than any segment
// The tiles of `tile` rows of all selected segments, the last tile of each segment first. Lists are cached for the
// other layers of the same batch.
WorkList attention_work(Context& context, const Segments& rows, const Segments& others, int tile, SegmentFilter filter);

// The segments whose queries and whose keys fit into one tile, packed into blocks: several short segments share the
// tiles of a block. A segment of up to 16 n queries and keys gets n neighboring warps, and the strips of these warps in
// all tiles. There are four items for each block, one for each warp; `begin` is the first row of the segment in the
// tiles. A warp without a segment has an item without rows. The results of a segment do not depend on its block.
WorkList packed_work(Context& context, const Segments& queries, const Segments& keys);

// The work of a warp of packed_work(). The grid is blocks x heads.
struct StripWork {
  AttentionWork w;
  int head, strip;  // strip: the warp's first row in the segment
  int64_t feature;

  __device__ StripWork(const AttentionWork* work, int heads, int width)
      : w(work[int(blockIdx.x) / heads * (kTileRows / kStripRows) + int(threadIdx.x) / kWarp]),
        head(int(blockIdx.x) % heads),
        strip(int(threadIdx.x) / kWarp * kStripRows - w.begin),
        feature(int64_t(head) * width) {}
};

// Rotation of rows by their positions, feature by feature (Kernels::rope).
template <class T>
struct RopeRows : RopeShape {
  const T* angles = nullptr;
  const int32_t* positions = nullptr;  // null: no rotation

  // The factors of a row: [f] multiplies feature f, [dims + f] its partner.
  __device__ const T* factors(int64_t row) const { return angles + int64_t(positions[row]) * 2 * dims; }

  // Rotated feature f of row `row`, whose features are at x.
  template <class D>
  __device__ T rotated(const D* x, int64_t row, int f) const {
    const T value = load(x + f);
    if (!positions || f >= dims) return value;
    const T* c = factors(row);
    return rotated_feature<false>(value, load(x + partner(f)), c[f], c[dims + f]);
  }
  // The transpose, for gradients.
  __device__ T rotated_back(const T* dy, int64_t row, int f) const {
    if (!positions || f >= dims) return dy[f];
    const T* c = factors(row);
    return rotated_feature<true>(dy[f], dy[partner(f)], c[f], c[dims + f]);
  }
};

template <class T>
RopeRows<T> make_rope_rows(Context& context, const AttentionCall& call, const Tensor& positions) {
  if (!call.angles) return {};
  return {call.rope, call.angles.data<T>(), context.ids(positions)};
}

// Parameters of scores and weights: scale, mask and dropout.
template <class T>
struct Scoring {
  int heads, width;
  int group;  // consecutive heads with the same keys and values
  bool causal;
  T scale, scale_log2;  // scale_log2 = scale * log2(e), because 2^x is cheaper than e^x
  Dropout dropout;
  T kept;                 // 1 / (1 - rate)
  int64_t key_rows, run;  // weight (head, query, key row) is element (head * key rows + key row) * run + query

  Scoring(const AttentionCall& call, int64_t width)
      : heads(call.shape.heads),
        width(int(width)),
        group(call.shape.group()),
        causal(call.shape.causal),
        scale(T(call.shape.scale)),
        scale_log2(T(call.shape.scale * std::numbers::log2e)),
        dropout(dropout_of(call.shape.dropout)),
        kept(T(1 / (1 - call.shape.dropout.rate))),
        key_rows(call.k.rows.rows()),
        run(divide_up(call.queries.longest(), 16) * 16) {}

  // First column of the keys and values of a head.
  __device__ int64_t key_feature(int head) const { return int64_t(head / group) * width; }
  __device__ uint64_t element(int head, int64_t key_row, int query) const {
    return uint64_t((head * key_rows + key_row) * run + query);
  }
  __device__ T factor(int head, int64_t key_row, int query) const {
    return dropout.factor(element(head, key_row, query)) > 0 ? kept : T(0);
  }
  // Query i of a segment sees the keys below the edge, which may be negative.
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
  RopeRows<T> query_rotation, key_rotation;
  Scoring<T> scoring;
};

// Destinations of a gradient; each may be null. `exact` is neither rotated back nor rounded, for the gradient of
// frequencies and for sums over groups of heads. It has the columns of all heads, also for keys and values.
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
  Rows<D> dout, out, q, k, v;
  Rows<D> rotated_q, rotated_k;  // copies of q and k; null if the kernels rotate
  const T* lse;
  T* sums;  // (heads, query rows): D of each query, written by the kernel over queries
  int64_t query_rows;
  RopeRows<T> query_rotation, key_rotation;
  Scoring<T> scoring;
};

constexpr int kWidestHead = 256;

// Kernels without tensor cores: any type, any width up to kWidestHead, with position terms and window.
template <class D>
void run_plain(Context& context, const AttentionForward<D>& a, const PositionTableRows<Compute<D>>& tables,
               const AttentionCall& call);
template <class D>
void run_plain(Context& context, const AttentionBackward<D>& a, const PositionTableRows<Compute<D>>& tables,
               const AttentionCall& call);

// Gradients of the position terms. Runs after the other kernels of backward, whose sums D it reads.
template <class D>
void add_term_gradients(Context& context, const PositionTables& dterms, const AttentionBackward<D>& a,
                        const PositionTableRows<Compute<D>>& tables, const AttentionCall& call);

// Calls f with the width as a compile-time constant.
template <class F>
void with_tensor_width(int64_t width, F&& f) {
  if (width == 32) return f(std::integral_constant<int, 32>{});
  if (width == 64) return f(std::integral_constant<int, 64>{});
  f(std::integral_constant<int, 128>{});
}
// Kernels on tensor cores, for bf16: for short segments, which they pack into blocks; for segments that do not fit into
// a tile; and for these by products of warpgroups (compute capability 9.0), also with windows and a bias by distance.
void run_packed(Context& context, const AttentionForward<bfloat16>& a, const AttentionCall& call);
void run_packed(Context& context, const AttentionBackward<bfloat16>& a, const AttentionCall& call);
void run_long(Context& context, const AttentionForward<bfloat16>& a, const AttentionCall& call);
void run_long(Context& context, const AttentionBackward<bfloat16>& a, const AttentionCall& call);
void run_hopper(Context& context, const AttentionForward<bfloat16>& a, const PositionTableRows<float>& tables,
                const AttentionCall& call, SegmentFilter filter);
void run_hopper(Context& context, const AttentionBackward<bfloat16>& a, const PositionTableRows<float>& tables,
                const AttentionCall& call, SegmentFilter filter);

enum class AttentionKernels {
  plain,        // run_plain()
  tensor,       // run_packed() and run_long()
  hopper,       // run_packed() and run_hopper()
  hopper_alone  // run_hopper() for all segments: for windows, a bias, and gradients summed over groups of heads
};

// Whether the backward of the kernels on tensor cores fits into the shared memory of this GPU.
bool tensor_backward_fits(int64_t width, const AttentionCall& call);
// Whether this GPU has the instructions of compute capability 9.0 and they are switched on: GYRE_CUDA_WGMMA=1.
bool has_hopper_attention();

// The kernels for a call. Those on tensor cores move rows in packs of 16 bytes, and rotate whole packs. Those of Hopper
// do not rotate: where they run, queries and keys are rotated first (rotates_first()). `rows`: all rows that are read
// or written. `grouped`: gradients are summed over groups of heads.
template <class D>
AttentionKernels attention_kernels(int64_t width, const PositionTableRows<Compute<D>>& tables,
                                   const AttentionCall& call, std::initializer_list<Rows<D>> rows,
                                   bool grouped = false) {
  using enum AttentionKernels;
  const bool rotates_packs =
      !call.angles || (rotates_whole_packs(call.rope) && is_aligned(call.angles.data<Compute<D>>()));
  const bool has_packs = std::is_same_v<D, bfloat16> && has_tensor_width(width) && rotates_packs &&
                         std::ranges::all_of(rows, [](const Rows<D>& r) { return has_aligned_rows(r.data, r.stride); });
  if (!has_packs || tables.has_vectors()) return plain;
  const bool has_rows = call.queries.tokens() > 0 && call.keys.tokens() > 0;  // or there is no map of their tiles
  if (!has_rows || call.longest() <= kTileRows || !has_hopper_attention()) return tables ? plain : tensor;
  return tables || grouped ? hopper_alone : hopper;
}

// Rotated copies of the queries and the keys of a call, whose heads have this width.
HeadColumns rotated_queries(Kernels& kernels, const AttentionCall& call, int64_t width);
HeadColumns rotated_keys(Kernels& kernels, const AttentionCall& call, int64_t width);

// dx, the gradient of keys or values: the sums of the exact gradients (rows, heads * width) over the heads of each
// group, rotated back.
template <class D>
void add_groups(Context& context, const HeadColumns& dx, const Tensor& exact, const RopeRows<Compute<D>>& rotation,
                const AttentionShape& shape);

template <template <class> class Pass, class D>
void run_attention(Context& context, AttentionKernels kernels, const Pass<D>& a,
                   const PositionTableRows<Compute<D>>& tables, const AttentionCall& call) {
  using enum AttentionKernels;
  if constexpr (std::is_same_v<D, bfloat16>) {
    if (kernels == hopper_alone) return run_hopper(context, a, tables, call, SegmentFilter::all);
    if (kernels != plain) run_packed(context, a, call);
    if (kernels == tensor) return run_long(context, a, call);
    if (kernels == hopper) return run_hopper(context, a, tables, call, SegmentFilter::not_fitting);
  }
  run_plain(context, a, tables, call);
}

}  // namespace gyre::cuda
