// Attention backward without tensor cores. Formulas: core/cpu/attention/attention_backward.cpp. One kernel runs over
// tiles of queries and passes over their keys, for D_i and dq_i. Another kernel runs over tiles of keys and passes over
// their queries, for dk_j and dv_j. One warp computes each sum in the order of the rows, so that results are bitwise
// reproducible.
//
// D_i = sum_j p_ij dp_ij is dout_i . out_i, because out_i = sum_j m_ij p_ij (v_j + value_table[t]). With bf16 data,
// `out` is rounded, and the error of D_i can exceed a dq_i that is small because one weight is close to 1. For bf16,
// D_i is therefore computed from the weights, with another pass over the keys.
#include "gyre/core/cuda/attention/plain_position_terms.h"

namespace gyre::cuda {
namespace {

// D of the warp's own rows.
template <class D>
__device__ inline void own_sums(Compute<D> (&sums)[kOwnRows<Compute<D>>], const AttentionBackward<D>& a,
                                int64_t feature, int64_t first, int count) {
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  for (int r = 0; r < kOwnRows<Compute<D>>; ++r) {
    const int row = warp + kPlainWarps * r;
    const D* x = a.dout.data + (first + row) * a.dout.stride + feature;
    const D* y = a.out.data + (first + row) * a.out.stride + feature;
    for (int f = lane; row < count && f < a.scoring.width; f += kWarp) sums[r] += load(x + f) * load(y + f);
  }
}

template <class D, int Chunks, class Terms>
__global__ __launch_bounds__(kPlainThreads,
                             kPlainBlocks<Chunks>) void plain_backward_queries(const AttentionBackward<D> a,
                                                                               const AttentionWork* work,
                                                                               const Terms terms) {
  using T = Compute<D>;
  constexpr int tile = kPlainTile<T>;
  const Scoring<T>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, s.width, tile);
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  const int64_t saved = head * a.query_rows + first;
  const auto q = plain_tile<T>(0, s.width), dout = plain_tile<T>(1, s.width);
  const auto k = plain_tile<T>(2, s.width), v = plain_tile<T>(3, s.width);
  load_plain(q, a.q, feature, first, count, s.width, a.query_rotation);
  load_plain(dout, a.dout, feature, first, count, s.width, RopeRows<T>{});
  T sums[kOwnRows<T>] = {}, dq[kOwnRows<T>][Chunks] = {};
  TilePair<T> tiles{plain_tile<T>(4, s.width).data, head, s.width, w.count, w.count_other, w.begin};
  const int seen = terms.end_key(s, tiles, w.begin + count - 1);
  constexpr bool rounded = std::is_same_v<D, bfloat16>;
  if (!rounded) own_sums(sums, a, feature, first, count);
  for (int sweep = 0; sweep < (a.dq ? 2 : 1); ++sweep) {
    const int end = sweep > 0 || rounded ? seen : 0;
    for (int j0 = terms.first_key(s, tiles, w.begin); j0 < end; j0 += tile) {
      tiles.key = j0;
      const int keys = min(tile, seen - j0);
      __syncthreads();  // the previous keys have been read
      load_plain(k, a.k, s.key_feature(head), int64_t(w.first_other) + j0, keys, s.width, a.key_rotation);
      load_plain(v, a.v, s.key_feature(head), int64_t(w.first_other) + j0, keys, s.width, RopeRows<T>{});
      __syncthreads();
      T scores[kOwnRows<T>], dweights[kOwnRows<T>];
      plain_scores(scores, q, k);
      plain_scores(dweights, dout, v);
      terms.add_scores(scores, tiles, q, k);
      terms.add_value_dots(dweights, tiles, dout);
      for (int r = 0; r < kOwnRows<T>; ++r) {
        const int row = warp + kPlainWarps * r, i = w.begin + row, j = j0 + lane;
        const bool visible = lane < keys && row < count && terms.sees(s, tiles, i, j);
        const T lse = row < count ? a.lse[saved + row] : T(0);
        const T score = terms.log2_score(s, scores[r], tiles, i, j);
        Pair<T> pair(s, score, dweights[r], lse, visible, head, int64_t(w.first_other) + j, i);
        if (sweep == 0) sums[r] += pair.weight * pair.dweight;
        pair.finish(s.scale, sums[r]);
        dweights[r] = pair.dweight;
      }
      if (sweep == 0) continue;
      add_plain(dq, dweights, k, keys, s.width);
      terms.template add_rows<PairAxis::query>(dq, dweights, tiles, keys);
    }
    for (int r = 0; sweep == 0 && r < kOwnRows<T>; ++r) {
      sums[r] = warp_sum(sums[r]);
      if (lane == 0 && warp + kPlainWarps * r < count) a.sums[saved + warp + kPlainWarps * r] = sums[r];
    }
  }
  __syncthreads();
  store_plain(a.dq, feature, first, count, s.width, dq, q, a.query_rotation);
}

template <class D, int Chunks, class Terms>
__global__ __launch_bounds__(kPlainThreads, kPlainBlocks<Chunks>) void plain_backward_keys(const AttentionBackward<D> a,
                                                                                           const AttentionWork* work,
                                                                                           const Terms terms) {
  using T = Compute<D>;
  constexpr int tile = kPlainTile<T>;
  const Scoring<T>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, s.width, tile);  // rows are keys
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  const auto k = plain_tile<T>(0, s.width), v = plain_tile<T>(1, s.width);
  const auto q = plain_tile<T>(2, s.width), dout = plain_tile<T>(3, s.width);
  load_plain(k, a.k, s.key_feature(head), first, count, s.width, a.key_rotation);
  load_plain(v, a.v, s.key_feature(head), first, count, s.width, RopeRows<T>{});
  T dk[kOwnRows<T>][Chunks] = {}, dv[kOwnRows<T>][Chunks] = {};
  TilePair<T> tiles{plain_tile<T>(4, s.width).data, head, s.width, w.count_other, w.count, 0, w.begin};
  const int end = terms.end_query(tiles, w.begin + count - 1);
  for (int i0 = terms.first_query(s, tiles, w.begin) / tile * tile; i0 < end; i0 += tile) {
    tiles.query = i0;
    const int queries = min(tile, w.count_other - i0), i = i0 + lane;
    const int64_t query_row = int64_t(w.first_other) + i0, saved = head * a.query_rows + query_row + lane;
    __syncthreads();  // the previous queries have been read
    load_plain(q, a.q, feature, query_row, queries, s.width, a.query_rotation);
    load_plain(dout, a.dout, feature, query_row, queries, s.width, RopeRows<T>{});
    __syncthreads();
    T weights[kOwnRows<T>], dweights[kOwnRows<T>];
    plain_scores(weights, k, q);
    plain_scores(dweights, v, dout);
    terms.add_scores(weights, tiles, q, k);
    terms.add_value_dots(dweights, tiles, dout);
    const T lse = lane < queries ? a.lse[saved] : T(0), sum = lane < queries ? a.sums[saved] : T(0);
    for (int r = 0; r < kOwnRows<T>; ++r) {
      const int row = warp + kPlainWarps * r, j = w.begin + row;
      const bool visible = lane < queries && row < count && terms.sees(s, tiles, i, j);
      const T score = terms.log2_score(s, weights[r], tiles, i, j);
      Pair<T> pair(s, score, dweights[r], lse, visible, head, first + row, i);
      pair.finish(s.scale, sum);
      weights[r] = pair.weight;
      dweights[r] = pair.dweight;
    }
    add_plain(dv, weights, dout, queries, s.width);
    add_plain(dk, dweights, q, queries, s.width);
    terms.template add_rows<PairAxis::key>(dk, dweights, tiles, queries);
  }
  __syncthreads();
  store_plain(a.dk, feature, first, count, s.width, dk, k, a.key_rotation);
  store_plain(a.dv, feature, first, count, s.width, dv, v, RopeRows<T>{});
}

template <class D, int Chunks, template <class, PairAxis> class Terms>
void run(Context& context, const AttentionBackward<D>& a, const PositionTableRows<Compute<D>>& tables,
         const AttentionCall& call) {
  using T = Compute<D>;
  using QueryTerms = Terms<T, PairAxis::query>;
  using KeyTerms = Terms<T, PairAxis::key>;
  const WorkList query_work = attention_work(context, call.queries, call.keys, kPlainTile<T>, SegmentFilter::all);
  const WorkList key_work = attention_work(context, call.keys, call.queries, kPlainTile<T>, SegmentFilter::all);
  const size_t shared = plain_bytes<T>(4, a.scoring.width) + QueryTerms::bytes(tables);
  const auto blocks = [&](const WorkList& work) { return dim3(unsigned(work.count * a.scoring.heads)); };
  launch(plain_backward_queries<D, Chunks, QueryTerms>, blocks(query_work), dim3(kPlainThreads), shared,
         context.stream(), a, query_work.items, QueryTerms(tables));
  if (!a.dk && !a.dv) return;
  launch(plain_backward_keys<D, Chunks, KeyTerms>, blocks(key_work), dim3(kPlainThreads), shared, context.stream(), a,
         key_work.items, KeyTerms(tables));
}

}  // namespace

template <class D>
void run_plain(Context& context, const AttentionBackward<D>& a, const PositionTableRows<Compute<D>>& tables,
               const AttentionCall& call) {
  with_plain_chunks(a.scoring.width, [&]<int Chunks>(std::integral_constant<int, Chunks>) {
    if (tables) {
      run<D, Chunks, PlainPositionTerms>(context, a, tables, call);
    } else {
      run<D, Chunks, NoPositionTerms>(context, a, tables, call);
    }
  });
}

template void run_plain(Context&, const AttentionBackward<float>&, const PositionTableRows<float>&,
                        const AttentionCall&);
template void run_plain(Context&, const AttentionBackward<double>&, const PositionTableRows<double>&,
                        const AttentionCall&);
template void run_plain(Context&, const AttentionBackward<bfloat16>&, const PositionTableRows<float>&,
                        const AttentionCall&);

}  // namespace gyre::cuda
