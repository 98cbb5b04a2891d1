// Attention forward without tensor cores, with online softmax (FlashAttention-2; Dao 2023). Of the keys so far, m is
// the largest score, l the sum of the weights 2^(s - m), and o the sum of the weighted values. When m grows, l and o
// are multiplied by 2^(old m - m). At the end, out = o / l and lse = ln 2 (m + log2 l).
#include <limits>

#include "gyre/core/cuda/attention/plain_position_terms.h"

namespace gyre::cuda {
namespace {

template <class T, int Chunks>
struct Softmax {
  T largest[kOwnRows<T>], sum[kOwnRows<T>], out[kOwnRows<T>][Chunks];  // sum: partial sum of the lane

  __device__ Softmax() {
    for (int r = 0; r < kOwnRows<T>; ++r) {
      largest[r] = -std::numeric_limits<T>::infinity();
      sum[r] = 0;
      for (int c = 0; c < Chunks; ++c) out[r][c] = 0;
    }
  }

  // Returns the weight of a score of row r. Rescales the sums if the largest score changes.
  __device__ T weigh(int r, T score) {
    const T before = largest[r], now = warp_max(score > before ? score : before);
    const T shift = now > -std::numeric_limits<T>::infinity() ? now : T(0), factor = exp2(before - shift);
    const T weight = exp2(score - shift);
    largest[r] = now;
    sum[r] = sum[r] * factor + weight;
    for (int c = 0; c < Chunks; ++c) out[r][c] *= factor;
    return weight;
  }
};

template <class D, int Chunks, class Terms>
__global__ __launch_bounds__(kPlainThreads, kPlainBlocks<Chunks>) void plain_forward(const AttentionForward<D> a,
                                                                                     const AttentionWork* work,
                                                                                     const Terms terms) {
  using T = Compute<D>;
  constexpr int tile = kPlainTile<T>;
  const Scoring<T>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, s.width, tile);
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  const auto q = plain_tile<T>(0, s.width), k = plain_tile<T>(1, s.width), v = plain_tile<T>(2, s.width);
  load_plain(q, a.q, feature, first, count, s.width, a.query_rotation);
  Softmax<T, Chunks> softmax;
  TilePair<T> pair{plain_tile<T>(3, s.width).data, head, s.width, w.count, w.count_other, w.begin};
  const int seen = terms.end_key(s, pair, w.begin + count - 1);
  for (int j0 = terms.first_key(s, pair, w.begin); j0 < seen; j0 += tile) {
    pair.key = j0;
    const int keys = min(tile, seen - j0);
    __syncthreads();  // the previous keys have been read
    load_plain(k, a.k, s.key_feature(head), int64_t(w.first_other) + j0, keys, s.width, a.key_rotation);
    load_plain(v, a.v, s.key_feature(head), int64_t(w.first_other) + j0, keys, s.width, RopeRows<T>{});
    __syncthreads();
    T weights[kOwnRows<T>];
    plain_scores(weights, q, k);
    terms.add_scores(weights, pair, q, k);
    for (int r = 0; r < kOwnRows<T>; ++r) {
      const int i = w.begin + warp + kPlainWarps * r, j = j0 + lane;
      const bool visible = lane < keys && i < w.count && terms.sees(s, pair, i, j);
      const T score = terms.log2_score(s, weights[r], pair, i, j);
      weights[r] = softmax.weigh(r, visible ? score : -std::numeric_limits<T>::infinity());
      if (visible && s.dropout.active()) weights[r] *= s.factor(head, int64_t(w.first_other) + j, i);
    }
    add_plain(softmax.out, weights, v, keys, s.width);
    terms.template add_rows<PairAxis::distance>(softmax.out, weights, pair, keys);
  }
  for (int r = 0; r < kOwnRows<T>; ++r) {
    const T sum = warp_sum(softmax.sum[r]);
    const int i = warp + kPlainWarps * r;
    for (int c = 0; c < Chunks; ++c) softmax.out[r][c] = sum > T(0) ? softmax.out[r][c] / sum : T(0);
    if (a.lse && lane == 0 && i < count) {
      const T lse = (softmax.largest[r] + log2(sum)) * std::numbers::ln2_v<T>;
      a.lse[head * a.query_rows + first + i] = sum > T(0) ? lse : -std::numeric_limits<T>::infinity();
    }
  }
  __syncthreads();
  store_plain(GradientRows<D>{a.out, {}}, feature, first, count, s.width, softmax.out, q, RopeRows<T>{});
}

template <class D, int Chunks, class Terms>
void run(Context& context, const AttentionForward<D>& a, const WorkList& work,
         const PositionTableRows<Compute<D>>& tables) {
  const size_t shared = plain_bytes<Compute<D>>(3, a.scoring.width) + Terms::bytes(tables);
  launch(plain_forward<D, Chunks, Terms>, dim3(unsigned(work.count * a.scoring.heads)), dim3(kPlainThreads), shared,
         context.stream(), a, work.items, Terms(tables));
}

}  // namespace

template <class D>
void run_plain(Context& context, const AttentionForward<D>& a, const PositionTableRows<Compute<D>>& tables,
               const AttentionCall& call) {
  using T = Compute<D>;
  const WorkList work = attention_work(context, call.queries, call.keys, kPlainTile<T>, SegmentFilter::all);
  with_plain_chunks(a.scoring.width, [&]<int Chunks>(std::integral_constant<int, Chunks>) {
    if (tables) {
      run<D, Chunks, PlainPositionTerms<T, PairAxis::query>>(context, a, work, tables);
    } else {
      run<D, Chunks, NoPositionTerms<T, PairAxis::query>>(context, a, work, tables);
    }
  });
}

template void run_plain(Context&, const AttentionForward<float>&, const PositionTableRows<float>&,
                        const AttentionCall&);
template void run_plain(Context&, const AttentionForward<double>&, const PositionTableRows<double>&,
                        const AttentionCall&);
template void run_plain(Context&, const AttentionForward<bfloat16>&, const PositionTableRows<float>&,
                        const AttentionCall&);

}  // namespace gyre::cuda
