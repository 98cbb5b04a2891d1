// Gradients of the relative-position terms of attention. With ds = p (m dp - D) and m p as in
// core/cuda/attention/attention_plain_backward.cu, over the pairs of distance t:
//   dbias[t] = sum ds,  dquery_table[t] = scale sum ds q_i,  dkey_table[t] = scale sum ds k_j,
//   dvalue_table[t] = sum m p dout_i
// and over the pairs whose query, or key, has position a:
//   dpos_queries[a] = scale sum ds pos_keys[j],  dpos_keys[a] = scale sum ds pos_queries[i]
// The own rows of a block are a tile of distances or positions of one head. The block runs over a slice of the segments
// and recomputes ds. Then the sums of the slices are added, and those of the heads if they share a table. The order of
// each sum is fixed, so that results are bitwise reproducible.
#include <algorithm>
#include <vector>

#include "gyre/core/cuda/attention/plain_position_terms.h"

namespace gyre::cuda {

// ---- The pairs of queries and keys that a block runs over, and their weights ---------------------------------------

// Sums over the slices of the segments: (slices, rows, heads * width) each, or null if not needed.
template <class T>
struct SlicedSums {
  T *query = nullptr, *key = nullptr, *value = nullptr;  // gradients of the tables
  T* bias = nullptr;                                     // (slices, rows, heads)
  T* positions = nullptr;                                // gradient of pos_queries or pos_keys
  int64_t rows = 0;                                      // rows of a table
  int width = 0;                                         // features of a head
};

// First rows of the tiles, in the segment or in the table.
struct TileStarts {
  int query, key, distance;
};

// The tiles of one segment that a block runs over: the tiles of the other rows begin at `first` and end before `end`.
template <class T, PairAxis own>
struct Walk {
  AttentionWork w;  // rows are queries
  int own_row;      // first own row of the block
  const Scoring<T>& s;
  const PositionTableRows<T>& tables;
  int ahead = w.count_other - w.count;  // position of the first query
  int first = 0, end = 0;

  __device__ Walk(const AttentionWork& w, int own_row, const Scoring<T>& s, const PositionTableRows<T>& tables)
      : w(w), own_row(own_row), s(s), tables(tables) {
    constexpr int last = kPlainTile<T> - 1;
    const int after = s.causal ? 0 : tables.window;  // the largest visible distance
    if constexpr (own == PairAxis::distance) {
      const int t = own_row - tables.zero_offset;
      if (t > after || t + last < -tables.window) return;
      first = max(0, -ahead - t - last);
      end = min(w.count, w.count_other - ahead - t);
    } else if constexpr (own == PairAxis::query) {
      if (own_row >= w.count_other || own_row + last < ahead) return;
      first = max(0, own_row - tables.window);
      end = min(w.count_other, own_row + last + after + 1);
    } else {
      if (own_row >= w.count_other) return;
      first = max(0, own_row - after - ahead);
      end = min(w.count, own_row + last + tables.window + 1 - ahead);
    }
  }

  __device__ TileStarts starts(int other) const {
    constexpr int last = kPlainTile<T> - 1;
    if constexpr (own == PairAxis::distance) return {other, other + ahead + own_row - tables.zero_offset, own_row};
    if constexpr (own == PairAxis::query) return {own_row - ahead, other, tables.zero_offset + other - own_row - last};
    return {other, own_row, tables.zero_offset + own_row - (other + ahead) - last};
  }

  // The pair of the warp's own row r and the lane's other row: query, key, and the mask.
  struct Seen {
    int i, j;
    bool visible;
  };
  __device__ Seen pair(int r, const TileStarts& at) const {
    const int row = int(threadIdx.x) / kWarp + kPlainWarps * r, lane = int(threadIdx.x) % kWarp;
    const int i = at.query + axis_row<T, own, PairAxis::query>(row, lane);
    const int j = at.key + axis_row<T, own, PairAxis::key>(row, lane), t = j - (i + ahead);
    const bool inside = lane < kPlainTile<T> && i >= 0 && i < w.count && j >= 0 && j < w.count_other;
    return {i, j, inside && t <= (s.causal ? 0 : tables.window) && t >= -tables.window};
  }
};

// Shared memory holds one part of each of four operands, with up to two tiles of rows each.
constexpr int kOperands = 4;

template <class D, PairAxis own>
struct Block {
  using T = Compute<D>;
  const AttentionBackward<D>& a;
  const PositionTableRows<T>& tables;
  int head;
  const Walk<T, own>& walk;
  TileStarts at;

  __device__ T* operand(int n) const { return shared_memory<T>() + n * kPartElements<T>; }

  // Loads a part of the segment's queries or keys, rotated. Rows outside of the segment are zero.
  template <PairAxis axis>
  __device__ void load_rows(T* part, const Rows<D>& from, const RopeRows<T>& row_rotation, int first) const {
    const AttentionWork& w = walk.w;
    const int begin = axis == PairAxis::query ? at.query : at.key,
              count = axis == PairAxis::query ? w.count : w.count_other;
    const int64_t row_of_batch = axis == PairAxis::query ? w.first : w.first_other;
    const int64_t feature = axis == PairAxis::query ? int64_t(head) * a.scoring.width : a.scoring.key_feature(head);
    fill_part(part, kAxisRows<T, own, axis>, first, a.scoring.width, [&](int i, int f) {
      if (begin + i < 0 || begin + i >= count) return T(0);
      const int64_t row = row_of_batch + begin + i;
      return row_rotation.rotated(from.data + row * from.stride + feature, row, f);
    });
  }
  __device__ void load_queries(T* part, int first) const {
    load_rows<PairAxis::query>(part, a.q, a.query_rotation, first);
  }
  __device__ void load_dout(T* part, int first) const {
    load_rows<PairAxis::query>(part, a.dout, RopeRows<T>{}, first);
  }
  __device__ void load_keys(T* part, int first) const { load_rows<PairAxis::key>(part, a.k, a.key_rotation, first); }
  __device__ void load_values(T* part, int first) const { load_rows<PairAxis::key>(part, a.v, RopeRows<T>{}, first); }
  __device__ void load_table(T* part, const HeadTable<T>& table, int first) const {
    if (table) load_part(part, kAxisRows<T, own, PairAxis::distance>, table, at.distance, head, first, a.scoring.width);
  }
  __device__ void load_pos_queries(T* part, int first) const {
    load_part(part, kAxisRows<T, own, PairAxis::query>, tables.pos_queries, at.query + walk.ahead, head, first,
              tables.pos_width);
  }
  __device__ void load_pos_keys(T* part, int first) const {
    load_part(part, kAxisRows<T, own, PairAxis::key>, tables.pos_keys, at.key, head, first, tables.pos_width);
  }
  template <PairAxis axis>
  __device__ AxisRows<T, own, axis> rows(int n) const {
    return {operand(n)};
  }

  // dots[r] += q . k + q . query_table + k . key_table
  __device__ void add_vectors(T (&dots)[kOwnRows<T>]) const {
    for (int first = 0; first < a.scoring.width; first += kPartWidth) {
      const int features = part_features<T>(first, a.scoring.width);
      __syncthreads();  // the previous part has been read
      load_queries(operand(0), first);
      load_keys(operand(1), first);
      load_table(operand(2), tables.query, first);
      load_table(operand(3), tables.key, first);
      __syncthreads();
      add_dots(dots, rows<PairAxis::query>(0), rows<PairAxis::key>(1), features);
      if (tables.query) add_dots(dots, rows<PairAxis::query>(0), rows<PairAxis::distance>(2), features);
      if (tables.key) add_dots(dots, rows<PairAxis::key>(1), rows<PairAxis::distance>(3), features);
    }
  }
  __device__ void add_pos_scores(T (&dots)[kOwnRows<T>]) const {
    for (int first = 0; first < tables.pos_width; first += kPartWidth) {
      __syncthreads();
      load_pos_queries(operand(0), first);
      load_pos_keys(operand(1), first);
      __syncthreads();
      add_dots(dots, rows<PairAxis::query>(0), rows<PairAxis::key>(1), part_features<T>(first, tables.pos_width));
    }
  }
  // dots[r] += dout . (v + value_table)
  __device__ void add_value_dots(T (&dots)[kOwnRows<T>]) const {
    for (int first = 0; first < a.scoring.width; first += kPartWidth) {
      const int features = part_features<T>(first, a.scoring.width);
      __syncthreads();
      load_dout(operand(0), first);
      load_values(operand(1), first);
      load_table(operand(2), tables.value, first);
      __syncthreads();
      add_dots(dots, rows<PairAxis::query>(0), rows<PairAxis::key>(1), features);
      if (tables.value) add_dots(dots, rows<PairAxis::query>(0), rows<PairAxis::distance>(2), features);
    }
  }

  // Computes m p and ds of the warp's pairs.
  __device__ void weigh(T (&weights)[kOwnRows<T>], T (&dweights)[kOwnRows<T>]) const {
    const Scoring<T>& s = a.scoring;
    for (int r = 0; r < kOwnRows<T>; ++r) weights[r] = dweights[r] = 0;
    add_vectors(weights);
    add_pos_scores(weights);
    add_value_dots(dweights);
    for (int r = 0; r < kOwnRows<T>; ++r) {
      const auto [i, j, visible] = walk.pair(r, at);
      const int64_t saved = head * a.query_rows + walk.w.first + i;
      const T score = weights[r] * s.scale_log2 + tables.bias_of(j - (i + walk.ahead), head) * std::numbers::log2e_v<T>;
      Pair<T> pair(s, score, dweights[r], visible ? a.lse[saved] : T(0), visible, head, int64_t(walk.w.first_other) + j,
                   i);
      pair.finish(T(1), visible ? a.sums[saved] : T(0));
      weights[r] = pair.weight;
      dweights[r] = pair.dweight;
    }
  }
};

namespace {

// Sums of one part of the features. blockIdx.z selects the part.
template <class T>
using PartSums = T[kOwnRows<T>][kPartChunks];

template <class D, PairAxis own>
__device__ inline void add_pairs(PartSums<Compute<D>> (&sums)[3], const SlicedSums<Compute<D>>& to,
                                 const Block<D, own>& block, const Compute<D> (&weights)[kOwnRows<Compute<D>>],
                                 const Compute<D> (&dweights)[kOwnRows<Compute<D>>]) {
  using T = Compute<D>;
  constexpr int tile = kPlainTile<T>;
  const int first = int(blockIdx.z) * kPartWidth;
  __syncthreads();  // the previous operands have been read
  if (own == PairAxis::distance) {
    if (to.query) block.load_queries(block.operand(0), first);
    if (to.key) block.load_keys(block.operand(1), first);
    if (to.value) block.load_dout(block.operand(2), first);
  } else if (own == PairAxis::query) {
    block.load_pos_keys(block.operand(0), first);
  } else {
    block.load_pos_queries(block.operand(0), first);
  }
  __syncthreads();
  if (to.positions) {
    add_weighted<T, own, own == PairAxis::query ? PairAxis::key : PairAxis::query>(sums[0], 0, dweights,
                                                                                   block.operand(0), tile);
    return;
  }
  if (to.query) add_weighted<T, own, PairAxis::query>(sums[0], 0, dweights, block.operand(0), tile);
  if (to.key) add_weighted<T, own, PairAxis::key>(sums[1], 0, dweights, block.operand(1), tile);
  if (to.value) add_weighted<T, own, PairAxis::query>(sums[2], 0, weights, block.operand(2), tile);
}

// Stores the warp's own rows of a part, multiplied by `factor`.
template <class T>
__device__ inline void store_sums(T* to, const SlicedSums<T>& all, const PartSums<T>& sums, T factor, int head,
                                  int heads, int first_row) {
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  if (!to) return;
  for (int r = 0; r < kOwnRows<T>; ++r) {
    const int64_t row = first_row + warp + kPlainWarps * r;
    if (row >= all.rows) continue;
    T* own = to + ((blockIdx.y * all.rows + row) * heads + head) * all.width;
    for (int c = 0; c < kPartChunks; ++c) {
      const int f = int(blockIdx.z) * kPartWidth + lane + kWarp * c;
      if (f < all.width) own[f] = factor * sums[r][c];
    }
  }
}

template <class D, PairAxis own>
__global__ __launch_bounds__(kPlainThreads) void sum_terms(const SlicedSums<Compute<D>> to,
                                                           const AttentionBackward<D> a,
                                                           const PositionTableRows<Compute<D>> tables,
                                                           const AttentionWork* segments, int64_t count) {
  using T = Compute<D>;
  const int heads = a.scoring.heads, head = int(blockIdx.x) % heads;
  const int own_row = int(blockIdx.x) / heads * kPlainTile<T>, lane = int(threadIdx.x) % kWarp;
  PartSums<T> sums[3] = {};
  T bias[kOwnRows<T>] = {};
  for (int64_t n = count * blockIdx.y / gridDim.y; n < count * (blockIdx.y + 1) / gridDim.y; ++n) {
    const Walk<T, own> walk(segments[n], own_row, a.scoring, tables);
    for (int other = walk.first; other < walk.end; other += kPlainTile<T>) {
      const Block<D, own> block{a, tables, head, walk, walk.starts(other)};
      T weights[kOwnRows<T>], dweights[kOwnRows<T>];
      block.weigh(weights, dweights);
      for (int r = 0; r < kOwnRows<T>; ++r) bias[r] += dweights[r];
      add_pairs(sums, to, block, weights, dweights);
    }
  }
  store_sums(own == PairAxis::distance ? to.query : to.positions, to, sums[0], a.scoring.scale, head, heads, own_row);
  store_sums(to.key, to, sums[1], a.scoring.scale, head, heads, own_row);
  store_sums(to.value, to, sums[2], T(1), head, heads, own_row);
  if (!to.bias || blockIdx.z > 0) return;
  for (int r = 0; r < kOwnRows<T>; ++r) {
    const T sum = warp_sum(bias[r]);
    const int64_t row = own_row + int(threadIdx.x) / kWarp + kPlainWarps * r;
    if (lane == 0 && row < to.rows) to.bias[(blockIdx.y * to.rows + row) * heads + head] = sum;
  }
}

// to(rows, to_columns) = sums over the slices of sliced(slices, rows_of_slice, columns). If to_columns < columns, also
// sums over the heads.
template <class T>
__global__ void add_slices(T* to, const T* sliced, int64_t slices, int64_t rows_of_slice, int64_t columns, int64_t rows,
                           int64_t to_columns) {
  const int64_t job = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (job >= rows * to_columns) return;
  T sum = 0;
  for (int64_t slice = 0; slice < slices; ++slice)
    for (int64_t column = job % to_columns; column < columns; column += to_columns)
      sum += sliced[(slice * rows_of_slice + job / to_columns) * columns + column];
  to[job] = sum;
}

// Launches sum_terms for tables of at most `rows` rows, and adds the sums of the slices.
template <class D, PairAxis own>
class TermSums {
  using T = Compute<D>;

 public:
  TermSums(Context& context, const AttentionBackward<D>& a, const WorkList& segments, int64_t rows, int width)
      : context_(context), a_(a), segments_(segments), parts_(divide_up(width, kPartWidth)) {
    // Enough slices of the segments for all multiprocessors. Their number depends only on the shape.
    constexpr int64_t kManyBlocks = 512;
    tiles_ = divide_up(rows, kPlainTile<T>);
    slices_ = divide_up(kManyBlocks, tiles_ * a.scoring.heads * parts_);
    slices_ = std::clamp<int64_t>(slices_, 1, std::max<int64_t>(1, segments.count));
    sums_.rows = rows;
    sums_.width = width;
  }

  // Registers a gradient, if it is defined, and allocates its sums, with `width` columns per head.
  void request(const Tensor& gradient, T* SlicedSums<T>::*sums, int width) {
    if (!gradient) return;
    const Shape shape{slices_, sums_.rows, int64_t(a_.scoring.heads) * width};
    const Tensor sliced = context_.empty(shape, dtype_of<T>());
    sums_.*sums = sliced.data<T>();
    requests_.push_back({gradient, sliced});
  }

  void run(const PositionTableRows<T>& tables) {
    launch(sum_terms<D, own>, dim3(unsigned(tiles_ * a_.scoring.heads), unsigned(slices_), unsigned(parts_)),
           dim3(kPlainThreads), kOperands * kPartElements<T> * sizeof(T), context_.stream(), sums_, a_, tables,
           segments_.items, segments_.count);
    for (const Request& w : requests_) {
      constexpr int kThreads = 256;
      launch(add_slices<T>, dim3(unsigned(divide_up(w.gradient.size(), kThreads))), dim3(kThreads), 0,
             context_.stream(), w.gradient.template data<T>(), w.sliced.template data<T>(), slices_, sums_.rows,
             w.sliced.cols(), w.gradient.rows(), w.gradient.cols());
    }
  }

 private:
  struct Request {
    Tensor gradient, sliced;
  };

  Context& context_;
  const AttentionBackward<D>& a_;
  WorkList segments_;
  int64_t parts_, tiles_ = 0, slices_ = 0;
  SlicedSums<T> sums_;
  std::vector<Request> requests_;
};

int64_t rows_or_none(const Tensor& t) { return t ? t.rows() : 0; }

}  // namespace

template <class D>
void add_term_gradients(Context& context, const PositionTables& d, const AttentionBackward<D>& a,
                        const PositionTableRows<Compute<D>>& tables, const AttentionCall& call) {
  using Sums = SlicedSums<Compute<D>>;
  const auto segments = [&] {
    return attention_work(context, call.queries, call.keys, kWholeSegment, SegmentFilter::all);
  };
  if (d.has_distances()) {
    const int64_t rows = std::max(
        {rows_or_none(d.bias), rows_or_none(d.query_table), rows_or_none(d.key_table), rows_or_none(d.value_table)});
    const bool vectors = d.query_table || d.key_table || d.value_table;
    TermSums<D, PairAxis::distance> sums(context, a, segments(), rows, vectors ? a.scoring.width : 1);
    sums.request(d.query_table, &Sums::query, a.scoring.width);
    sums.request(d.key_table, &Sums::key, a.scoring.width);
    sums.request(d.value_table, &Sums::value, a.scoring.width);
    sums.request(d.bias, &Sums::bias, 1);
    sums.run(tables);
  }
  const auto add_pos_scores = [&]<PairAxis own>(std::integral_constant<PairAxis, own>, const Tensor& gradient) {
    if (!gradient) return;
    TermSums<D, own> sums(context, a, segments(), gradient.rows(), tables.pos_width);
    sums.request(gradient, &Sums::positions, tables.pos_width);
    sums.run(tables);
  };
  add_pos_scores(std::integral_constant<PairAxis, PairAxis::query>{}, d.pos_queries);
  add_pos_scores(std::integral_constant<PairAxis, PairAxis::key>{}, d.pos_keys);
}

template void add_term_gradients(Context&, const PositionTables&, const AttentionBackward<float>&,
                                 const PositionTableRows<float>&, const AttentionCall&);
template void add_term_gradients(Context&, const PositionTables&, const AttentionBackward<double>&,
                                 const PositionTableRows<double>&, const AttentionCall&);
template void add_term_gradients(Context&, const PositionTables&, const AttentionBackward<bfloat16>&,
                                 const PositionTableRows<float>&, const AttentionCall&);

}  // namespace gyre::cuda
