// Attention backward on tensor cores, of the segments that do not fit into one tile. One kernel runs over tiles of
// queries and passes over their keys, for D_i and dq_i. Another kernel runs over tiles of keys and passes over their
// queries, for dk_j and dv_j. Both compute the scores with their own rows as rows, so that the weights are the left
// operands of the next products without leaving the registers. The next rows are loaded during the products.
//
// dq_i takes D_i = sum_j p_ij dp_ij from dout_i . out_i, as in FlashAttention-2 (Dao 2023). This saves a pass over the
// keys and has the rounding error of `out`. dk_j and dv_j use the sum itself, which is known after the pass, so that
// these errors do not add up over the queries.
#include <limits>

#include "gyre/core/cuda/attention/attention_weights.h"
#include "gyre/core/kernels/gpu_blocks.h"

namespace gyre::cuda {
namespace {

// The number of columns of weights, in units of 8, that a warp has in registers at a time.
constexpr int kChunks = 4;

template <int Width>
__global__ __launch_bounds__(kTileThreads,
                             backward_of_queries_blocks(Width)) void backward_of_queries(const TensorBackward a,
                                                                                         const AttentionWork* work) {
  const Scoring<float>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, Width, kTileRows);
  const int strip = first_row_of_warp(), query = w.begin + strip;
  const int64_t saved = head * a.query_rows + w.first;  // first row of the segment
  const HeadSlice dout_rows{a.dout, feature, first, count};
  float sum[2], exact_sum[2] = {};
  row_dots<Width>(sum, dout_rows, HeadSlice{a.out, feature, first, count}, strip);
  const TilePairs<Width> tiles{shared_memory<bfloat16>()};  // keys and values
  const auto load = [&](int pair, int j0) {
    const int64_t row = int64_t(w.first_other) + j0;
    const int keys = min(kTileRows, w.count_other - j0);
    copy_strip(tiles.first(pair), HeadSlice{a.k, s.key_feature(head), row, keys}, strip);
    copy_strip(tiles.second(pair), HeadSlice{a.v, s.key_feature(head), row, keys}, strip);
  };
  // The own rows use the second pair until they are in registers.
  copy_strip(tiles.first(1), HeadSlice{a.q, feature, first, count}, strip);
  copy_strip(tiles.second(1), dout_rows, strip);
  commit_copies();
  const int seen = s.edge(w.begin + count - 1, w.count, w.count_other);  // the last key that the block sees
  const int warp_seen = strip < count ? s.edge(min(query + kStripRows, w.count) - 1, w.count, w.count_other) : 0;
  if (seen > 0) load(0, 0);
  commit_copies();
  const StripQueries rows(s, a.lse + saved, query, w.count, w.count_other);
  wait_copies<1>();
  __syncwarp();
  const StripInRegisters<Width> q(tiles.first(1), strip), dout(tiles.second(1), strip);
  float dq[Width / 8][4] = {};
  const int free = for_each_tile(0, seen, load, [&](int pair, int j0) {
    const int keys = min(kTileRows, warp_seen - j0);
    const Tile<Width> k = tiles.first(pair), v = tiles.second(pair);
    for (int j = 0; j < keys; j += 8 * kChunks) {
      const int n = min(8 * kChunks, keys - j);
      StripWeights<kChunks> weights;
      multiply_rows(weights.p, q, k, j, n);
      multiply_rows(weights.dp, dout, v, j, n);
      if (s.dropout.active()) weights.kept.draw_by_query(s, head, int64_t(w.first_other) + j0 + j, n, query);
      weights.weigh(s, n, [&](int c, int key) { return rows.lse(c, j0 + j + key); });
      for_each_element<kChunks>(n, [&](int e, int c, int) { exact_sum[c / 2] += weights.p[e][c] * weights.dp[e][c]; });
      weights.finish(s, n, [&](int c, int) { return sum[c / 2]; });
      add_weighted(dq, weights.dp, k, j, n);
    }
  });
  for (int h = 0; h < 2; ++h) {
    const int row = strip + lane_of_warp() / 4 + 8 * h;
    exact_sum[h] = row_sum(exact_sum[h]);
    if (lane_of_warp() % 4 == 0 && row < count) a.sums[saved + w.begin + row] = exact_sum[h];
  }
  store_gradients(HeadSlice{a.dq, feature, first, count}, strip, dq, s.scale, StagedSums<Width>(tiles.first(free)));
}

// The log-sum-exp, times log2(e), and D of a tile of queries, in shared memory. Thread i loads the log-sum-exp, and
// thread i + 64 the sum D, of query i. Rows behind the last query have the weight 0.
struct QuerySums {
  float* data;

  __device__ const float* lse(int pair) const { return data + pair * kTileThreads; }
  __device__ const float* sum(int pair) const { return lse(pair) + kTileRows; }
  __device__ void put(int pair, float own) const { data[pair * kTileThreads + int(threadIdx.x)] = own; }

  __device__ static float load(const TensorBackward& a, int64_t saved, int queries) {
    const int i = int(threadIdx.x) % kTileRows;
    if (int(threadIdx.x) >= kTileRows) return i < queries ? a.sums[saved + i] : 0;
    return i < queries ? a.lse[saved + i] * std::numbers::log2e_v<float> : kInvisible;
  }
};

// The own rows, of keys and values. In heads of 128 features there are no registers left for them.
template <int Width>
using OwnStrip = std::conditional_t<(Width > 64), StripInTile<Width>, StripInRegisters<Width>>;
template <int Width>
constexpr int kKeyTiles = Width > 64 ? 6 : 4;
// The bytes of shared memory of backward_of_keys.
template <int Width>
constexpr size_t kKeyBytes = size_t{kKeyTiles<Width>} * Tile<Width>::kBytes + 2 * kTileThreads * sizeof(float);

template <int Width>
__global__ __launch_bounds__(kTileThreads,
                             backward_of_keys_blocks(Width)) void backward_of_keys(const TensorBackward a,
                                                                                   const AttentionWork* work) {
  const Scoring<float>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, Width, kTileRows);  // rows are keys
  const int strip = first_row_of_warp();
  const int64_t saved = head * a.query_rows + w.first_other;  // first row of the segment
  bfloat16* shared = shared_memory<bfloat16>();
  const TilePairs<Width> tiles{shared}, own{shared + (kKeyTiles<Width> - 4) * Tile<Width>::kElements};
  const QuerySums sums{reinterpret_cast<float*>(shared + kKeyTiles<Width> * Tile<Width>::kElements)};
  float next = 0;
  const auto load = [&](int pair, int i0) {
    const int64_t row = int64_t(w.first_other) + i0;
    const int queries = min(kTileRows, w.count_other - i0);
    copy_strip(tiles.first(pair), HeadSlice{a.q, feature, row, queries}, strip);
    copy_strip(tiles.second(pair), HeadSlice{a.dout, feature, row, queries}, strip);
    next = QuerySums::load(a, saved + i0, queries);
  };
  // In registers, the own rows use the second pair until they are there.
  copy_strip(own.first(1), HeadSlice{a.k, s.key_feature(head), first, count}, strip);
  copy_strip(own.second(1), HeadSlice{a.v, s.key_feature(head), first, count}, strip);
  commit_copies();
  const int begin = s.first_query(w.begin, w.count_other, w.count) / kTileRows * kTileRows;
  if (begin < w.count_other) load(0, begin);
  commit_copies();
  sums.put(0, next);
  int from[2];  // the first query that sees the lane's key
  for (int h = 0; h < 2; ++h) {
    const int row = strip + lane_of_warp() / 4 + 8 * h;
    from[h] = row < count ? s.first_query(w.begin + row, w.count_other, w.count) : std::numeric_limits<int>::max();
  }
  const int warp_from = s.first_query(w.begin + strip, w.count_other, w.count) / kStripRows * kStripRows;
  wait_copies<1>();
  __syncwarp();
  const OwnStrip<Width> k{own.first(1), strip}, v{own.second(1), strip};
  float dk[Width / 8][4] = {}, dv[Width / 8][4] = {};
  const int free = for_each_tile(begin, w.count_other, load, [&](int pair, int i0) {
    const int queries = strip < count ? min(kTileRows, w.count_other - i0) : 0;
    const Tile<Width> q = tiles.first(pair), dout = tiles.second(pair);
    for (int i = max(0, warp_from - i0); i < queries; i += 8 * kChunks) {
      const int n = min(8 * kChunks, queries - i);
      const float *lse = sums.lse(pair) + i, *sum = sums.sum(pair) + i;
      StripWeights<kChunks> weights;
      multiply_rows(weights.p, k, q, i, n);
      multiply_rows(weights.dp, v, dout, i, n);
      if (s.dropout.active()) weights.kept.draw_by_key(s, head, first + strip, i0 + i, n);
      weights.weigh(s, n, [&](int c, int query) { return i0 + i + query >= from[c / 2] ? lse[query] : kInvisible; });
      weights.finish(s, n, [&](int, int query) { return sum[query]; });
      add_weighted(dv, weights.p, dout, i, n);
      add_weighted(dk, weights.dp, q, i, n);
    }
    sums.put(pair ^ 1, next);
  });
  const StagedSums<Width> staged(tiles.first(free));
  store_gradients(HeadSlice{a.dk, feature, first, count}, strip, dk, s.scale, staged);
  store_gradients(HeadSlice{a.dv, feature, first, count}, strip, dv, 1, staged);
}

}  // namespace

// Segments that fit into one tile need less: at most six tiles (attention_tensor_backward.cu), which every GPU has.
bool tensor_backward_fits(int64_t width, const AttentionCall& call) {
  if (!has_tensor_width(width) || call.longest() <= kTileRows) return true;
  bool fits = false;
  with_tensor_width(width, [&](auto w) { fits = kKeyBytes<w()> <= most_shared_memory(); });
  return fits;
}

void run_long(Context& context, const AttentionBackward<bfloat16>& arguments, const AttentionCall& call) {
  const TensorBackward a(arguments);
  const auto launch_over = [&](auto kernel, const WorkList& work, size_t bytes) {
    launch(kernel, dim3(unsigned(work.count * a.scoring.heads)), dim3(kTileThreads), bytes, context.stream(), a,
           work.items);
  };
  using enum SegmentFilter;
  with_tensor_width(a.scoring.width, [&](auto width) {
    launch_over(backward_of_queries<width()>, attention_work(context, call.queries, call.keys, kTileRows, not_fitting),
                4 * Tile<width()>::kBytes);
    if (!a.dk.requested() && !a.dv.requested()) return;
    launch_over(backward_of_keys<width()>, attention_work(context, call.keys, call.queries, kTileRows, not_fitting),
                kKeyBytes<width()>);
  });
}

}  // namespace gyre::cuda
