// Attention backward on tensor cores, for bf16 heads of 32, 64 or 128 features. Formulas:
// core/cpu/attention/attention_backward.cpp. For a segment that fits into one tile of queries and keys, one block
// computes everything from one load. For longer segments, one kernel runs over tiles of queries and passes over their
// keys, for dq_i. Another kernel runs over tiles of keys and passes over their queries, for dk_j and dv_j. No sum
// depends on the order of blocks.
//
// D_i = sum_j p_ij dp_ij: in a segment of one tile, a warp holds all p_ij and dp_ij of a query. For longer segments,
// dq_i takes D_i = dout_i . out_i, which saves a pass over the keys and has the rounding error of `out`. dk_j and dv_j
// use the sum itself, which is known after the pass, so that these errors do not add up over the queries.
#include "gyre/core/cuda/attention/attention_tiles.h"

namespace gyre::cuda {
namespace {

struct TensorBackward {
  HeadRows dq, dk, dv, dout, out, q, k, v;
  const float* lse;
  float* sums;
  int64_t query_rows;
  Scoring<float> scoring;

  explicit TensorBackward(const AttentionBackward<bfloat16>& a)
      : dq(a.dq, a.query_rotation),
        dk(a.dk, a.key_rotation),
        dv(a.dv, {}),
        dout(a.dout, {}),
        out(a.out, {}),
        q(a.q, a.query_rotation),
        k(a.k, a.key_rotation),
        v(a.v, {}),
        lse(a.lse),
        sums(a.sums),
        query_rows(a.query_rows),
        scoring(a.scoring) {}
};

// Shared memory of a block: four tiles, then the weights and their gradients, (queries, keys).
template <int Width>
struct BackwardTiles {
  Tile<Width> q, dout, k, v;
  Tile<kTileRows> weights, dweights;

  __device__ BackwardTiles() {
    constexpr int size = Tile<Width>::kElements;
    bfloat16* shared = shared_memory<bfloat16>();
    q.data = shared;
    dout.data = shared + size;
    k.data = shared + 2 * size;
    v.data = shared + 3 * size;
    weights.data = shared + 4 * size;
    dweights.data = weights.data + weights.kElements;
  }
  static size_t bytes(bool with_weights) {
    return size_t(4 * Tile<Width>::kElements + (with_weights ? 2 * Tile<kTileRows>::kElements : 0)) * sizeof(bfloat16);
  }
};

// State of the lane's two rows, of a warp's 16 queries.
struct WarpQueries {
  int edge[2];  // the query sees the keys of the segment below the edge
  float lse_log2[2];
  float sum[2] = {};  // D

  // The warp's queries are the rows from warp_row on of a tile of `count` queries. The tile begins with query `begin`
  // of the segment and with element `saved` of lse.
  __device__ WarpQueries(const TensorBackward& a, int warp_row, int begin, int count, int queries, int keys,
                         int64_t saved) {
    for (int h = 0; h < 2; ++h) {
      const int row = warp_row + int(threadIdx.x) % kWarp / 4 + 8 * h;
      edge[h] = row < count ? a.scoring.edge(begin + row, queries, keys) : 0;
      lse_log2[h] = row < count ? a.lse[saved + row] * std::numbers::log2e_v<float> : 0;
    }
  }
};

// The weights of a warp's queries and a tile of keys, and their gradients.
struct WarpWeights {
  float p[kTileRows / 8][4];   // p, then m p
  float dp[kTileRows / 8][4];  // m dp, then ds
  KeptWeights kept;

  // The queries are the rows from warp_row on of the tiles q and dout; the first is query `query` of the segment. The
  // keys are the first `keys` rows of the tiles k and v; the first is key `key` of the segment and row first_key of the
  // batch.
  template <int Width>
  __device__ void compute(const BackwardTiles<Width>& t, const WarpQueries& w, const Scoring<float>& s, int warp_row,
                          int head, int query, int64_t first_key, int key, int keys) {
    multiply_rows(p, t.q, warp_row, t.k, keys);
    multiply_rows(dp, t.dout, warp_row, t.v, keys);
    if (s.dropout.active()) kept.draw(s, head, first_key, keys, query);
    const int column = 2 * (int(threadIdx.x) % 4);
#pragma unroll
    for (int n = 0; n < kTileRows / 8; ++n) {
      if (n / 2 * 16 >= keys) break;
      for (int c = 0; c < 4; ++c) {
        const int j = column + 8 * n + c % 2;
        const bool visible = j < keys && key + j < w.edge[c / 2];
        p[n][c] = visible ? exp2f(p[n][c] * s.scale_log2 - w.lse_log2[c / 2]) : 0;
        if (s.dropout.active()) dp[n][c] = kept.kept(n, c) ? dp[n][c] * s.kept : 0;
      }
    }
  }

  // Adds the lane's partial sums to D.
  __device__ void add_sums(float (&sum)[2], int keys) const {
#pragma unroll
    for (int n = 0; n < kTileRows / 8; ++n) {
      if (n / 2 * 16 >= keys) break;
      for (int c = 0; c < 4; ++c) sum[c / 2] += p[n][c] * dp[n][c];
    }
  }

  __device__ void finish(const Scoring<float>& s, const float (&sum)[2], int keys) {
#pragma unroll
    for (int n = 0; n < kTileRows / 8; ++n) {
      if (n / 2 * 16 >= keys) break;
      for (int c = 0; c < 4; ++c) {
        dp[n][c] = s.scale * p[n][c] * (dp[n][c] - sum[c / 2]);
        if (s.dropout.active()) p[n][c] = kept.kept(n, c) ? p[n][c] * s.kept : 0;
      }
    }
  }

  // Writes the weights to shared memory, for the warps that process the keys.
  template <int Width>
  __device__ void share(const BackwardTiles<Width>& t, int warp_row, int keys) const {
    const int lane = int(threadIdx.x) % kWarp, row = warp_row + lane / 4, column = 2 * (lane % 4);
#pragma unroll
    for (int n = 0; n < kTileRows / 8; ++n) {
      if (n / 2 * 16 >= keys) break;
      for (int h = 0; h < 2; ++h) {
        const auto put = [&](const Tile<kTileRows>& tile, const float(&x)[4]) {
          *reinterpret_cast<uint32_t*>(tile.at(row + 8 * h, 8 * n + column)) = pack_bf16(x[2 * h], x[2 * h + 1]);
        };
        put(t.weights, p[n]);
        put(t.dweights, dp[n]);
      }
    }
  }
};

// The gradients of a warp's 16 keys.
template <int Width>
struct WarpKeys {
  float dk[Width / 8][4] = {}, dv[Width / 8][4] = {};

  __device__ void add(const BackwardTiles<Width>& t, int warp_row, int queries) {
    add_columns(dv, t.weights, warp_row, t.dout, queries);
    add_columns(dk, t.dweights, warp_row, t.q, queries);
  }
  // Overwrites the tiles, so that no warp may still read them.
  __device__ void store(const TensorBackward& a, const BackwardTiles<Width>& t, int64_t feature, int64_t first,
                        int count) const {
    store_sums(a.dk, feature, first, count, dk, {1, 1}, StagedSums<Width>(t.q));
    store_sums(a.dv, feature, first, count, dv, {1, 1}, StagedSums<Width>(t.k));
  }
};

template <int Width>
__global__ __launch_bounds__(kTileThreads) void backward_of_one_tile(const TensorBackward a,
                                                                     const AttentionWork* work) {
  const Scoring<float>& s = a.scoring;
  const AttentionWork w = work[blockIdx.x / s.heads];
  const int head = int(blockIdx.x) % s.heads, queries = w.count, keys = w.count_other;
  const int warp_row = int(threadIdx.x) / kWarp * kWarpRows;
  const int64_t feature = int64_t(head) * Width;
  const BackwardTiles<Width> t;
  load_tile(t.q, a.q, feature, w.first, queries);
  load_tile(t.dout, a.dout, feature, w.first, queries);
  load_tile(t.k, a.k, feature, w.first_other, keys);
  load_tile(t.v, a.v, feature, w.first_other, keys);
  commit_copies();
  wait_copies<0>();
  __syncthreads();
  float dq[Width / 8][4] = {};
  if (warp_row < queries) {
    WarpQueries rows(a, warp_row, 0, queries, queries, keys, head * a.query_rows + w.first);
    WarpWeights weights;
    weights.compute(t, rows, s, warp_row, head, warp_row, w.first_other, 0, keys);
    weights.add_sums(rows.sum, keys);
    for (float& sum : rows.sum) sum = row_sum(sum);
    weights.finish(s, rows.sum, keys);
    weights.share(t, warp_row, keys);
    add_weighted(dq, weights.dp, t.k, keys);
  }
  __syncthreads();  // the weights are in shared memory, the keys have been read
  store_sums(a.dq, feature, w.first, queries, dq, {1, 1}, StagedSums<Width>(t.k));
  WarpKeys<Width> sums;
  if (warp_row < keys) sums.add(t, warp_row, queries);
  __syncthreads();
  sums.store(a, t, feature, w.first_other, keys);
}

template <int Width>
__global__ __launch_bounds__(kTileThreads) void backward_of_queries(const TensorBackward a, const AttentionWork* work) {
  const Scoring<float>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, Width, kTileRows);
  const int lane = int(threadIdx.x) % kWarp, warp_row = int(threadIdx.x) / kWarp * kWarpRows;
  const int64_t first_key = w.first_other;
  const int64_t saved = head * a.query_rows + first;
  const BackwardTiles<Width> t;
  WarpQueries rows(a, warp_row, w.begin, count, w.count, w.count_other, saved);
  row_dots<Width>(rows.sum, a.dout, a.out, feature, first + warp_row, count - warp_row);
  float exact_sum[2] = {};
  load_tile(t.q, a.q, feature, first, count);
  load_tile(t.dout, a.dout, feature, first, count);
  commit_copies();  // without visible keys the loop commits nothing
  float dq[Width / 8][4] = {};
  const int seen = s.edge(w.begin + count - 1, w.count, w.count_other);
  for (int j0 = 0; j0 < seen; j0 += kTileRows) {
    const int keys = min(kTileRows, seen - j0);
    __syncthreads();  // the previous keys have been read
    load_tile(t.k, a.k, feature, first_key + j0, keys);
    load_tile(t.v, a.v, feature, first_key + j0, keys);
    commit_copies();
    wait_copies<0>();
    __syncthreads();
    if (warp_row >= count) continue;
    WarpWeights weights;
    weights.compute(t, rows, s, warp_row, head, w.begin + warp_row, first_key + j0, j0, keys);
    weights.add_sums(exact_sum, keys);
    weights.finish(s, rows.sum, keys);
    add_weighted(dq, weights.dp, t.k, keys);
  }
  for (int h = 0; h < 2; ++h) {
    exact_sum[h] = row_sum(exact_sum[h]);
    const int row = warp_row + lane / 4 + 8 * h;
    if (lane % 4 == 0 && row < count) a.sums[saved + row] = exact_sum[h];
  }
  wait_copies<0>();
  __syncthreads();
  store_sums(a.dq, feature, first, count, dq, {1, 1}, StagedSums<Width>(t.k));
}

template <int Width>
__global__ __launch_bounds__(kTileThreads) void backward_of_keys(const TensorBackward a, const AttentionWork* work) {
  const Scoring<float>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, Width, kTileRows);  // rows are keys
  const int lane = int(threadIdx.x) % kWarp, warp_row = int(threadIdx.x) / kWarp * kWarpRows;
  const BackwardTiles<Width> t;
  load_tile(t.k, a.k, feature, first, count);
  load_tile(t.v, a.v, feature, first, count);
  commit_copies();  // without queries the loop commits nothing
  WarpKeys<Width> sums;
  const int seen_from = s.first_query(w.begin, w.count_other, w.count) / kTileRows * kTileRows;
  for (int i0 = seen_from; i0 < w.count_other; i0 += kTileRows) {
    const int queries = min(kTileRows, w.count_other - i0);
    const int64_t query_row = int64_t(w.first_other) + i0, saved = head * a.query_rows + query_row;
    __syncthreads();  // the previous queries and weights have been read
    load_tile(t.q, a.q, feature, query_row, queries);
    load_tile(t.dout, a.dout, feature, query_row, queries);
    commit_copies();
    wait_copies<0>();
    __syncthreads();
    if (warp_row < queries) {
      WarpQueries rows(a, warp_row, i0, queries, w.count_other, w.count, saved);
      for (int h = 0; h < 2; ++h) {
        const int row = warp_row + lane / 4 + 8 * h;
        rows.sum[h] = row < queries ? a.sums[saved + row] : 0;
      }
      WarpWeights weights;
      weights.compute(t, rows, s, warp_row, head, i0 + warp_row, first, w.begin, count);
      weights.finish(s, rows.sum, count);
      weights.share(t, warp_row, count);
    }
    __syncthreads();
    if (warp_row < count) sums.add(t, warp_row, queries);
  }
  wait_copies<0>();
  __syncthreads();
  sums.store(a, t, feature, first, count);
}

template <int Width>
void run(Context& context, const TensorBackward& a, const Segments& queries, const Segments& keys) {
  const auto launch_over = [&](auto kernel, const WorkList& work, bool with_weights) {
    launch(kernel, dim3(unsigned(work.count * a.scoring.heads)), dim3(kTileThreads),
           BackwardTiles<Width>::bytes(with_weights), context.stream(), a, work.items);
  };
  using enum SegmentFilter;
  launch_over(backward_of_one_tile<Width>, attention_work(context, queries, keys, kTileRows, fitting), true);
  launch_over(backward_of_queries<Width>, attention_work(context, queries, keys, kTileRows, not_fitting), false);
  if (!a.dk.requested() && !a.dv.requested()) return;
  launch_over(backward_of_keys<Width>, attention_work(context, keys, queries, kTileRows, not_fitting), true);
}

}  // namespace

void run_tensor(Context& context, const AttentionBackward<bfloat16>& a, const Segments& queries, const Segments& keys) {
  const TensorBackward call(a);
  with_tensor_width(a.scoring.width, [&](auto width) { run<width()>(context, call, queries, keys); });
}

}  // namespace gyre::cuda
