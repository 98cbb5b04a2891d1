// Attention forward on plain arithmetic, with the softmax of what was seen so far (FlashAttention-2; Dao 2023): m the
// largest score, l the sum of the weights 2^(s - m), o the sum of weighted values. A larger m multiplies l and o by
// 2^(old m - m); at the end out = o / l and lse = ln 2 (m + log2 l).
#include <limits>

#include "core/cuda/attention_plain.h"

namespace gyre::cuda {
namespace {

template <class T, int Chunks>
struct Softmax {
  T largest[kOwnRows<T>], sum[kOwnRows<T>], out[kOwnRows<T>][Chunks];  // the sum is the lane's part

  __device__ Softmax() {
    for (int r = 0; r < kOwnRows<T>; ++r) {
      largest[r] = -std::numeric_limits<T>::infinity();
      sum[r] = 0;
      for (int c = 0; c < Chunks; ++c) out[r][c] = 0;
    }
  }

  // The score of row r becomes its weight.
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

template <class D, int Chunks>
__global__ __launch_bounds__(kPlainThreads, kPlainBlocks<Chunks>) void plain_forward(const AttentionForward<D> a,
                                                                                     const AttentionWork* work) {
  using T = Compute<D>;
  constexpr int tile = kPlainTile<T>;
  const Scoring<T>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, s.width, tile);
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  const auto q = plain_tile<T>(0, s.width), k = plain_tile<T>(1, s.width), v = plain_tile<T>(2, s.width);
  load_plain(q, a.q, feature, first, count, s.width, a.turn_queries);
  Softmax<T, Chunks> softmax;
  const int seen = s.edge(w.begin + count - 1, w.count, w.count_other);
  for (int j0 = 0; j0 < seen; j0 += tile) {
    const int keys = min(tile, seen - j0);
    __syncthreads();  // the keys before have been read
    load_plain(k, a.k, feature, int64_t(w.first_other) + j0, keys, s.width, a.turn_keys);
    load_plain(v, a.v, feature, int64_t(w.first_other) + j0, keys, s.width, RowTurn<T>{});
    __syncthreads();
    T weights[kOwnRows<T>];
    plain_scores(weights, q, k);
    for (int r = 0; r < kOwnRows<T>; ++r) {
      const int i = w.begin + warp + kPlainWarps * r, j = j0 + lane;
      const bool visible = lane < keys && i < w.count && j < s.edge(i, w.count, w.count_other);
      weights[r] = softmax.weigh(r, visible ? weights[r] * s.scale_log2 : -std::numeric_limits<T>::infinity());
      if (visible && s.dropout.active()) weights[r] *= s.factor(head, int64_t(w.first_other) + j, i);
    }
    add_plain(softmax.out, weights, v, keys, s.width);
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
  store_plain(GradientRows<D>{a.out, {}}, feature, first, count, s.width, softmax.out, q, RowTurn<T>{});
}

}  // namespace

template <class D>
void run_plain(Context& context, const AttentionForward<D>& a, const Segments& queries, const Segments& keys) {
  using T = Compute<D>;
  const WorkList work = attention_work(context, queries, keys, kPlainTile<T>, WorkChoice::all);
  const auto kernel = a.scoring.width <= 2 * kWarp ? plain_forward<D, 2> : plain_forward<D, kWidestHead / kWarp>;
  launch(kernel, dim3(unsigned(work.count * a.scoring.heads)), dim3(kPlainThreads), plain_bytes<T>(3, a.scoring.width),
         context.stream(), a, work.items);
}

template void run_plain(Context&, const AttentionForward<float>&, const Segments&, const Segments&);
template void run_plain(Context&, const AttentionForward<double>&, const Segments&, const Segments&);
template void run_plain(Context&, const AttentionForward<bfloat16>&, const Segments&, const Segments&);

}  // namespace gyre::cuda
