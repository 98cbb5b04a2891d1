// Attention backward on plain arithmetic (core/cpu/attention_backward.cpp has the formulas). One kernel goes over tiles
// of queries, twice across their keys: D_i first, then dq_i. Another goes over tiles of keys, across their queries:
// dk_j and dv_j. Each sum is made by one warp in the order of the rows: the same bits on each run.
#include "core/cuda/attention_plain.h"

namespace gyre::cuda {
namespace {

// One pair of query and key: its score, dout . v, and what they become.
template <class T>
struct Pair {
  T weight;   // p, then m p
  T dweight;  // m dp, then ds

  __device__ Pair(const Scoring<T>& s, T score, T dp, T lse, bool visible, int head, int64_t key_row, int query)
      : weight(visible ? exp2(score * s.scale_log2 - lse * std::numbers::log2e_v<T>) : T(0)), dweight(dp) {
    if (visible && s.dropout.active()) factor_ = s.factor(head, key_row, query);
    dweight *= factor_;
  }
  __device__ void finish(T scale, T sum) {
    dweight = scale * weight * (dweight - sum);
    weight *= factor_;
  }

 private:
  T factor_ = 1;
};

template <class D, int Chunks>
__global__ __launch_bounds__(kPlainThreads,
                             kPlainBlocks<Chunks>) void plain_backward_queries(const AttentionBackward<D> a,
                                                                               const AttentionWork* work) {
  using T = Compute<D>;
  constexpr int tile = kPlainTile<T>;
  const Scoring<T>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, s.width, tile);
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  const int64_t saved = head * a.query_rows + first;
  const auto q = plain_tile<T>(0, s.width), dout = plain_tile<T>(1, s.width);
  const auto k = plain_tile<T>(2, s.width), v = plain_tile<T>(3, s.width);
  load_plain(q, a.q, feature, first, count, s.width, a.turn_queries);
  load_plain(dout, a.dout, feature, first, count, s.width, RowTurn<T>{});
  T sums[kOwnRows<T>] = {}, dq[kOwnRows<T>][Chunks] = {};
  const int seen = s.edge(w.begin + count - 1, w.count, w.count_other);
  for (int sweep = 0; sweep < (a.dq ? 2 : 1); ++sweep) {
    for (int j0 = 0; j0 < seen; j0 += tile) {
      const int keys = min(tile, seen - j0);
      __syncthreads();  // the keys before have been read
      load_plain(k, a.k, feature, int64_t(w.first_other) + j0, keys, s.width, a.turn_keys);
      load_plain(v, a.v, feature, int64_t(w.first_other) + j0, keys, s.width, RowTurn<T>{});
      __syncthreads();
      T scores[kOwnRows<T>], dweights[kOwnRows<T>];
      plain_scores(scores, q, k);
      plain_scores(dweights, dout, v);
      for (int r = 0; r < kOwnRows<T>; ++r) {
        const int row = warp + kPlainWarps * r, i = w.begin + row, j = j0 + lane;
        const bool visible = lane < keys && row < count && j < s.edge(i, w.count, w.count_other);
        const T lse = row < count ? a.lse[saved + row] : T(0);
        Pair<T> pair(s, scores[r], dweights[r], lse, visible, head, int64_t(w.first_other) + j, i);
        if (sweep == 0) sums[r] += pair.weight * pair.dweight;
        pair.finish(s.scale, sums[r]);
        dweights[r] = pair.dweight;
      }
      if (sweep == 1) add_plain(dq, dweights, k, keys, s.width);
    }
    for (int r = 0; sweep == 0 && r < kOwnRows<T>; ++r) {
      sums[r] = warp_sum(sums[r]);
      if (lane == 0 && warp + kPlainWarps * r < count) a.sums[saved + warp + kPlainWarps * r] = sums[r];
    }
  }
  __syncthreads();
  store_plain(a.dq, feature, first, count, s.width, dq, q, a.turn_queries);
}

template <class D, int Chunks>
__global__ __launch_bounds__(kPlainThreads, kPlainBlocks<Chunks>) void plain_backward_keys(const AttentionBackward<D> a,
                                                                                           const AttentionWork* work) {
  using T = Compute<D>;
  constexpr int tile = kPlainTile<T>;
  const Scoring<T>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, s.width, tile);  // rows are keys
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  const auto k = plain_tile<T>(0, s.width), v = plain_tile<T>(1, s.width);
  const auto q = plain_tile<T>(2, s.width), dout = plain_tile<T>(3, s.width);
  load_plain(k, a.k, feature, first, count, s.width, a.turn_keys);
  load_plain(v, a.v, feature, first, count, s.width, RowTurn<T>{});
  T dk[kOwnRows<T>][Chunks] = {}, dv[kOwnRows<T>][Chunks] = {};
  for (int i0 = s.first_query(w.begin, w.count_other, w.count) / tile * tile; i0 < w.count_other; i0 += tile) {
    const int queries = min(tile, w.count_other - i0), i = i0 + lane;
    const int64_t query_row = int64_t(w.first_other) + i0, saved = head * a.query_rows + query_row + lane;
    __syncthreads();  // the queries before have been read
    load_plain(q, a.q, feature, query_row, queries, s.width, a.turn_queries);
    load_plain(dout, a.dout, feature, query_row, queries, s.width, RowTurn<T>{});
    __syncthreads();
    T weights[kOwnRows<T>], dweights[kOwnRows<T>];
    plain_scores(weights, k, q);
    plain_scores(dweights, v, dout);
    const T lse = lane < queries ? a.lse[saved] : T(0), sum = lane < queries ? a.sums[saved] : T(0);
    for (int r = 0; r < kOwnRows<T>; ++r) {
      const int row = warp + kPlainWarps * r, j = w.begin + row;
      const bool visible = lane < queries && row < count && j < s.edge(i, w.count_other, w.count);
      Pair<T> pair(s, weights[r], dweights[r], lse, visible, head, first + row, i);
      pair.finish(s.scale, sum);
      weights[r] = pair.weight;
      dweights[r] = pair.dweight;
    }
    add_plain(dv, weights, dout, queries, s.width);
    add_plain(dk, dweights, q, queries, s.width);
  }
  __syncthreads();
  store_plain(a.dk, feature, first, count, s.width, dk, k, a.turn_keys);
  store_plain(a.dv, feature, first, count, s.width, dv, v, RowTurn<T>{});
}

template <class D, int Chunks>
void run(Context& context, const AttentionBackward<D>& a, const Segments& queries, const Segments& keys) {
  using T = Compute<D>;
  const WorkList query_work = attention_work(context, queries, keys, kPlainTile<T>, WorkChoice::all);
  const WorkList key_work = attention_work(context, keys, queries, kPlainTile<T>, WorkChoice::all);
  const size_t shared = plain_bytes<T>(4, a.scoring.width);
  const auto blocks = [&](const WorkList& work) { return dim3(unsigned(work.count * a.scoring.heads)); };
  launch(plain_backward_queries<D, Chunks>, blocks(query_work), dim3(kPlainThreads), shared, context.stream(), a,
         query_work.items);
  if (!a.dk && !a.dv) return;
  launch(plain_backward_keys<D, Chunks>, blocks(key_work), dim3(kPlainThreads), shared, context.stream(), a,
         key_work.items);
}

}  // namespace

template <class D>
void run_plain(Context& context, const AttentionBackward<D>& a, const Segments& queries, const Segments& keys) {
  if (a.scoring.width <= 2 * kWarp) {
    run<D, 2>(context, a, queries, keys);
  } else {
    run<D, kWidestHead / kWarp>(context, a, queries, keys);
  }
}

template void run_plain(Context&, const AttentionBackward<float>&, const Segments&, const Segments&);
template void run_plain(Context&, const AttentionBackward<double>&, const Segments&, const Segments&);
template void run_plain(Context&, const AttentionBackward<bfloat16>&, const Segments&, const Segments&);

}  // namespace gyre::cuda
