// Gradients of what order adds to attention, ds = p (m dp - D) and m p as in core/cuda/attention_plain_backward.cu:
//   dbias[t] = sum ds,  dquery_table[t] = scale sum ds q_i,  dkey_table[t] = scale sum ds k_j,
//   dvalue_table[t] = sum m p dout_i, over the pairs of distance t;
//   dquery_places[a] = scale sum ds key_places[j] over the pairs of place a, and the other way round.
// A block has a tile of distances or places of one head as its own rows, and goes over the segments of its slice: ds is
// computed again for each. The sums of the slices, and of the heads where they share a table, are then added. Each sum
// has one order: the same bits on each run.
#include <algorithm>
#include <vector>

#include "core/cuda/attention_plain_terms.h"

namespace gyre::cuda {
namespace {

// Sums over a slice of the segments: (slices, rows, heads * width) each, null where nothing is wanted.
template <class T>
struct SlicedSums {
  T *query = nullptr, *key = nullptr, *value = nullptr;  // of tables
  T* bias = nullptr;                                     // (slices, rows, heads)
  T* places = nullptr;
  int64_t rows = 0;  // of a table
  int width = 0;     // of a head
};

// Where the rows of the tiles begin, in the segment or in the table.
struct TileStarts {
  int query, key, distance;
};

// The tiles of one segment that a block goes over: those of the rows from across begin at `first`, below `end`.
template <class T, Item own>
struct Walk {
  AttentionWork w;  // rows are queries
  int own_row;      // the block's first
  const Scoring<T>& s;
  const OrderTerms<T>& order;
  int ahead = w.count_other - w.count;  // the first query's place
  int first = 0, end = 0;

  __device__ Walk(const AttentionWork& w, int own_row, const Scoring<T>& s, const OrderTerms<T>& order)
      : w(w), own_row(own_row), s(s), order(order) {
    constexpr int last = kPlainTile<T> - 1;
    const int after = s.causal ? 0 : order.reach;  // the furthest distance seen
    if constexpr (own == Item::distance) {
      const int t = own_row - order.zero;
      if (t > after || t + last < -order.reach) return;
      first = max(0, -ahead - t - last);
      end = min(w.count, w.count_other - ahead - t);
    } else if constexpr (own == Item::query) {
      if (own_row >= w.count_other || own_row + last < ahead) return;
      first = max(0, own_row - order.reach);
      end = min(w.count_other, own_row + last + after + 1);
    } else {
      if (own_row >= w.count_other) return;
      first = max(0, own_row - after - ahead);
      end = min(w.count, own_row + last + order.reach + 1 - ahead);
    }
  }

  __device__ TileStarts starts(int across) const {
    constexpr int last = kPlainTile<T> - 1;
    if constexpr (own == Item::distance) return {across, across + ahead + own_row - order.zero, own_row};
    if constexpr (own == Item::query) return {own_row - ahead, across, order.zero + across - own_row - last};
    return {across, own_row, order.zero + own_row - (across + ahead) - last};
  }

  // The pair of the warp's row r and the lane: query, key and whether it counts.
  struct Seen {
    int i, j;
    bool visible;
  };
  __device__ Seen pair(int r, const TileStarts& at) const {
    const int row = int(threadIdx.x) / kWarp + kPlainWarps * r, lane = int(threadIdx.x) % kWarp;
    const int i = at.query + item_row<T, own, Item::query>(row, lane);
    const int j = at.key + item_row<T, own, Item::key>(row, lane), t = j - (i + ahead);
    const bool inside = lane < kPlainTile<T> && i >= 0 && i < w.count && j >= 0 && j < w.count_other;
    return {i, j, inside && t <= (s.causal ? 0 : order.reach) && t >= -order.reach};
  }
};

// Shared memory: a part of the rows of four operands, each of up to two tiles.
constexpr int kOperands = 4;

template <class D, Item own>
struct Block {
  using T = Compute<D>;
  const AttentionBackward<D>& a;
  const OrderTerms<T>& order;
  int head;
  const Walk<T, own>& walk;
  TileStarts at;

  __device__ T* operand(int n) const { return shared_memory<T>() + n * kPartElements<T>; }

  // Rows of the segment's queries or keys, turned; zeros around it.
  template <Item item>
  __device__ void load_rows(T* part, const Rows<D>& from, const RowTurn<T>& turn, int first) const {
    const AttentionWork& w = walk.w;
    const int begin = item == Item::query ? at.query : at.key, count = item == Item::query ? w.count : w.count_other;
    const int64_t row_of_batch = item == Item::query ? w.first : w.first_other;
    fill_part(part, kItemRows<T, own, item>, first, a.scoring.width, [&](int i, int f) {
      if (begin + i < 0 || begin + i >= count) return T(0);
      const int64_t row = row_of_batch + begin + i;
      return turn.turned(from.data + row * from.stride + int64_t(head) * a.scoring.width, row, f);
    });
  }
  __device__ void load_queries(T* part, int first) const { load_rows<Item::query>(part, a.q, a.turn_queries, first); }
  __device__ void load_dout(T* part, int first) const { load_rows<Item::query>(part, a.dout, RowTurn<T>{}, first); }
  __device__ void load_keys(T* part, int first) const { load_rows<Item::key>(part, a.k, a.turn_keys, first); }
  __device__ void load_values(T* part, int first) const { load_rows<Item::key>(part, a.v, RowTurn<T>{}, first); }
  __device__ void load_table(T* part, const HeadTable<T>& table, int first) const {
    if (table) load_part(part, kItemRows<T, own, Item::distance>, table, at.distance, head, first, a.scoring.width);
  }
  __device__ void load_query_places(T* part, int first) const {
    load_part(part, kItemRows<T, own, Item::query>, order.query_places, at.query + walk.ahead, head, first,
              order.place_width);
  }
  __device__ void load_key_places(T* part, int first) const {
    load_part(part, kItemRows<T, own, Item::key>, order.key_places, at.key, head, first, order.place_width);
  }
  template <Item item>
  __device__ ItemRows<T, own, item> rows(int n) const {
    return {operand(n)};
  }

  // dots[r] += q . k + q . query_table + k . key_table
  __device__ void add_vectors(T (&dots)[kOwnRows<T>]) const {
    for (int first = 0; first < a.scoring.width; first += kPartWidth) {
      const int features = part_features<T>(first, a.scoring.width);
      __syncthreads();  // what was there has been read
      load_queries(operand(0), first);
      load_keys(operand(1), first);
      load_table(operand(2), order.query, first);
      load_table(operand(3), order.key, first);
      __syncthreads();
      add_dots(dots, rows<Item::query>(0), rows<Item::key>(1), features);
      if (order.query) add_dots(dots, rows<Item::query>(0), rows<Item::distance>(2), features);
      if (order.key) add_dots(dots, rows<Item::key>(1), rows<Item::distance>(3), features);
    }
  }
  __device__ void add_places(T (&dots)[kOwnRows<T>]) const {
    for (int first = 0; first < order.place_width; first += kPartWidth) {
      __syncthreads();
      load_query_places(operand(0), first);
      load_key_places(operand(1), first);
      __syncthreads();
      add_dots(dots, rows<Item::query>(0), rows<Item::key>(1), part_features<T>(first, order.place_width));
    }
  }
  // dots[r] += dout . (v + value_table)
  __device__ void add_value_dots(T (&dots)[kOwnRows<T>]) const {
    for (int first = 0; first < a.scoring.width; first += kPartWidth) {
      const int features = part_features<T>(first, a.scoring.width);
      __syncthreads();
      load_dout(operand(0), first);
      load_values(operand(1), first);
      load_table(operand(2), order.value, first);
      __syncthreads();
      add_dots(dots, rows<Item::query>(0), rows<Item::key>(1), features);
      if (order.value) add_dots(dots, rows<Item::query>(0), rows<Item::distance>(2), features);
    }
  }

  // m p and ds of the warp's pairs.
  __device__ void weigh(T (&weights)[kOwnRows<T>], T (&dweights)[kOwnRows<T>]) const {
    const Scoring<T>& s = a.scoring;
    for (int r = 0; r < kOwnRows<T>; ++r) weights[r] = dweights[r] = 0;
    add_vectors(weights);
    add_places(weights);
    add_value_dots(dweights);
    for (int r = 0; r < kOwnRows<T>; ++r) {
      const auto [i, j, visible] = walk.pair(r, at);
      const int64_t saved = head * a.query_rows + walk.w.first + i;
      const T score = weights[r] * s.scale_log2 + order.bias_of(j - (i + walk.ahead), head) * std::numbers::log2e_v<T>;
      Pair<T> pair(s, score, dweights[r], visible ? a.lse[saved] : T(0), visible, head, int64_t(walk.w.first_other) + j,
                   i);
      pair.finish(T(1), visible ? a.sums[saved] : T(0));
      weights[r] = pair.weight;
      dweights[r] = pair.dweight;
    }
  }
};

// The features of a part in each block: blockIdx.z says which.
template <class T>
using PartSums = T[kOwnRows<T>][kPartChunks];

template <class D, Item own>
__device__ inline void add_pairs(PartSums<Compute<D>> (&sums)[3], const SlicedSums<Compute<D>>& to,
                                 const Block<D, own>& block, const Compute<D> (&weights)[kOwnRows<Compute<D>>],
                                 const Compute<D> (&dweights)[kOwnRows<Compute<D>>]) {
  using T = Compute<D>;
  constexpr int tile = kPlainTile<T>;
  const int first = int(blockIdx.z) * kPartWidth;
  __syncthreads();  // what was there has been read
  if (own == Item::distance) {
    if (to.query) block.load_queries(block.operand(0), first);
    if (to.key) block.load_keys(block.operand(1), first);
    if (to.value) block.load_dout(block.operand(2), first);
  } else if (own == Item::query) {
    block.load_key_places(block.operand(0), first);
  } else {
    block.load_query_places(block.operand(0), first);
  }
  __syncthreads();
  if (to.places) {
    add_weighted<T, own, own == Item::query ? Item::key : Item::query>(sums[0], 0, dweights, block.operand(0), tile);
    return;
  }
  if (to.query) add_weighted<T, own, Item::query>(sums[0], 0, dweights, block.operand(0), tile);
  if (to.key) add_weighted<T, own, Item::key>(sums[1], 0, dweights, block.operand(1), tile);
  if (to.value) add_weighted<T, own, Item::query>(sums[2], 0, weights, block.operand(2), tile);
}

// The warp's rows of a part.
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

template <class D, Item own>
__global__ __launch_bounds__(kPlainThreads) void sum_terms(const SlicedSums<Compute<D>> to,
                                                           const AttentionBackward<D> a,
                                                           const OrderTerms<Compute<D>> order,
                                                           const AttentionWork* segments, int64_t count) {
  using T = Compute<D>;
  const int heads = a.scoring.heads, head = int(blockIdx.x) % heads;
  const int own_row = int(blockIdx.x) / heads * kPlainTile<T>, lane = int(threadIdx.x) % kWarp;
  PartSums<T> sums[3] = {};
  T bias[kOwnRows<T>] = {};
  for (int64_t n = count * blockIdx.y / gridDim.y; n < count * (blockIdx.y + 1) / gridDim.y; ++n) {
    const Walk<T, own> walk(segments[n], own_row, a.scoring, order);
    for (int across = walk.first; across < walk.end; across += kPlainTile<T>) {
      const Block<D, own> block{a, order, head, walk, walk.starts(across)};
      T weights[kOwnRows<T>], dweights[kOwnRows<T>];
      block.weigh(weights, dweights);
      for (int r = 0; r < kOwnRows<T>; ++r) bias[r] += dweights[r];
      add_pairs(sums, to, block, weights, dweights);
    }
  }
  store_sums(own == Item::distance ? to.query : to.places, to, sums[0], a.scoring.scale, head, heads, own_row);
  store_sums(to.key, to, sums[1], a.scoring.scale, head, heads, own_row);
  store_sums(to.value, to, sums[2], T(1), head, heads, own_row);
  if (!to.bias || blockIdx.z > 0) return;
  for (int r = 0; r < kOwnRows<T>; ++r) {
    const T sum = warp_sum(bias[r]);
    const int64_t row = own_row + int(threadIdx.x) / kWarp + kPlainWarps * r;
    if (lane == 0 && row < to.rows) to.bias[(blockIdx.y * to.rows + row) * heads + head] = sum;
  }
}

// to(rows, columns) = the sums over the slices; where `to` has fewer columns, over the heads too.
template <class T>
__global__ void add_slices(T* to, const T* sliced, int64_t slices, int64_t rows_of_slice, int64_t columns, int64_t rows,
                           int64_t wanted) {
  const int64_t job = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (job >= rows * wanted) return;
  T sum = 0;
  for (int64_t slice = 0; slice < slices; ++slice)
    for (int64_t column = job % wanted; column < columns; column += wanted)
      sum += sliced[(slice * rows_of_slice + job / wanted) * columns + column];
  to[job] = sum;
}

// The launch of sum_terms for tables of at most `rows` rows, and what follows it.
template <class D, Item own>
class TermSums {
  using T = Compute<D>;

 public:
  TermSums(Context& context, const AttentionBackward<D>& a, const WorkList& segments, int64_t rows, int width)
      : context_(context), a_(a), segments_(segments), parts_(divide_up(width, kPartWidth)) {
    // Enough slices of the segments for all multiprocessors. It depends on the shape alone.
    constexpr int64_t kManyBlocks = 512;
    tiles_ = divide_up(rows, kPlainTile<T>);
    slices_ = divide_up(kManyBlocks, tiles_ * a.scoring.heads * parts_);
    slices_ = std::clamp<int64_t>(slices_, 1, std::max<int64_t>(1, segments.count));
    sums_.rows = rows;
    sums_.width = width;
  }

  // A gradient, if it is wanted, and where its sums begin; `width` of a head.
  void want(const Tensor& gradient, T* SlicedSums<T>::*sums, int width) {
    if (!gradient) return;
    const Shape shape{slices_, sums_.rows, int64_t(a_.scoring.heads) * width};
    const Tensor sliced = context_.empty(shape, dtype_of<T>());
    sums_.*sums = sliced.data<T>();
    wanted_.push_back({gradient, sliced});
  }

  void run(const OrderTerms<T>& order) {
    launch(sum_terms<D, own>, dim3(unsigned(tiles_ * a_.scoring.heads), unsigned(slices_), unsigned(parts_)),
           dim3(kPlainThreads), kOperands * kPartElements<T> * sizeof(T), context_.stream(), sums_, a_, order,
           segments_.items, segments_.count);
    for (const Wanted& w : wanted_) {
      constexpr int kThreads = 256;
      launch(add_slices<T>, dim3(unsigned(divide_up(w.gradient.size(), kThreads))), dim3(kThreads), 0,
             context_.stream(), w.gradient.template data<T>(), w.sliced.template data<T>(), slices_, sums_.rows,
             w.sliced.cols(), w.gradient.rows(), w.gradient.cols());
    }
  }

 private:
  struct Wanted {
    Tensor gradient, sliced;
  };

  Context& context_;
  const AttentionBackward<D>& a_;
  WorkList segments_;
  int64_t parts_, tiles_ = 0, slices_ = 0;
  SlicedSums<T> sums_;
  std::vector<Wanted> wanted_;
};

int64_t rows_or_none(const Tensor& t) { return t ? t.rows() : 0; }

}  // namespace

template <class D>
void add_term_gradients(Context& context, const AttentionTerms& d, const AttentionBackward<D>& a,
                        const OrderTerms<Compute<D>>& order, const Segments& queries, const Segments& keys) {
  using Sums = SlicedSums<Compute<D>>;
  const auto segments = [&] { return attention_work(context, queries, keys, kWholeSegment, WorkChoice::all); };
  if (d.has_distances()) {
    const int64_t rows = std::max(
        {rows_or_none(d.bias), rows_or_none(d.query_table), rows_or_none(d.key_table), rows_or_none(d.value_table)});
    const bool vectors = d.query_table || d.key_table || d.value_table;
    TermSums<D, Item::distance> sums(context, a, segments(), rows, vectors ? a.scoring.width : 1);
    sums.want(d.query_table, &Sums::query, a.scoring.width);
    sums.want(d.key_table, &Sums::key, a.scoring.width);
    sums.want(d.value_table, &Sums::value, a.scoring.width);
    sums.want(d.bias, &Sums::bias, 1);
    sums.run(order);
  }
  const auto add_places = [&]<Item own>(std::integral_constant<Item, own>, const Tensor& gradient) {
    if (!gradient) return;
    TermSums<D, own> sums(context, a, segments(), gradient.rows(), order.place_width);
    sums.want(gradient, &Sums::places, order.place_width);
    sums.run(order);
  };
  add_places(std::integral_constant<Item, Item::query>{}, d.query_places);
  add_places(std::integral_constant<Item, Item::key>{}, d.key_places);
}

template void add_term_gradients(Context&, const AttentionTerms&, const AttentionBackward<float>&,
                                 const OrderTerms<float>&, const Segments&, const Segments&);
template void add_term_gradients(Context&, const AttentionTerms&, const AttentionBackward<double>&,
                                 const OrderTerms<double>&, const Segments&, const Segments&);
template void add_term_gradients(Context&, const AttentionTerms&, const AttentionBackward<bfloat16>&,
                                 const OrderTerms<float>&, const Segments&, const Segments&);

}  // namespace gyre::cuda
