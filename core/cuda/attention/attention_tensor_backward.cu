// Attention backward on tensor cores, for bf16 heads of 32, 64 or 128 features, of the segments that fit into one tile
// of queries and keys. Segments are packed into blocks (packed_work()), and each is loaded once. A warp holds all p_ij
// and dp_ij of its queries, so that D_i = sum_j p_ij dp_ij costs nothing. Longer segments:
// attention_tensor_backward_long.cu. No sum depends on the order of blocks.
#include "gyre/core/cuda/attention/attention_weights.h"
#include "gyre/core/kernels/gpu_blocks.h"

namespace gyre::cuda {
namespace {

constexpr int kChunks = kTileRows / 8;

// Shared memory of a block: four tiles, then the weights and their gradients, (queries, keys). Of a segment whose first
// row in the tiles is `begin`, the weights are in rows `begin` and up and in columns 0 and up.
template <int Width>
struct PackedTiles {
  Tile<Width> q, dout, k, v;
  Tile<kTileRows> weights, dweights;

  __device__ explicit PackedTiles(int begin)
      : q(Tile<Width>{shared_memory<bfloat16>()}.from(begin)),
        dout{q.data + q.kElements},
        k{dout.data + q.kElements},
        v{k.data + q.kElements},
        weights(Tile<kTileRows>{shared_memory<bfloat16>() + 4 * q.kElements}.from(begin)),
        dweights{weights.data + weights.kElements} {}
  static constexpr size_t kBytes = (4 * Tile<Width>::kElements + 2 * Tile<kTileRows>::kElements) * sizeof(bfloat16);
};

// Writes weights to shared memory, for the warps that process the keys.
__device__ inline void share(const Tile<kTileRows>& tile, const float (&weights)[kChunks][4], int strip, int n) {
  const int row = strip + lane_of_warp() / 4, column = 2 * (lane_of_warp() % 4);
#pragma unroll
  for (int j = 0; j < kChunks; ++j) {
    if (j / 2 * 16 >= n) break;
    for (int h = 0; h < 2; ++h)
      *reinterpret_cast<uint32_t*>(tile.at(row + 8 * h, 8 * j + column)) =
          pack_bf16(weights[j][2 * h], weights[j][2 * h + 1]);
  }
}

template <int Width>
__global__ __launch_bounds__(kTileThreads,
                             packed_backward_blocks(Width)) void packed_backward(const TensorBackward a,
                                                                                 const AttentionWork* work) {
  const Scoring<float>& s = a.scoring;
  const auto [w, head, strip, feature] = StripWork(work, s.heads, Width);
  const int queries = w.count, keys = w.count_other;
  const PackedTiles<Width> t(w.begin);
  load_strip(t.q, HeadSlice{a.q, feature, w.first, queries}, strip);
  load_strip(t.k, HeadSlice{a.k, s.key_feature(head), w.first_other, keys}, strip);
  copy_strip(t.dout, HeadSlice{a.dout, feature, w.first, queries}, strip);
  copy_strip(t.v, HeadSlice{a.v, s.key_feature(head), w.first_other, keys}, strip);
  commit_copies();
  wait_copies<0>();
  __syncthreads();
  float dq[Width / 8][4] = {};
  if (strip < queries) {
    const StripQueries rows(s, a.lse + head * a.query_rows + w.first, strip, queries, keys);
    StripWeights<kChunks> weights;
    multiply_rows(weights.p, StripInTile<Width>{t.q, strip}, t.k, 0, keys);
    multiply_rows(weights.dp, StripInTile<Width>{t.dout, strip}, t.v, 0, keys);
    if (s.dropout.active()) weights.kept.draw_by_query(s, head, w.first_other, keys, strip);
    weights.weigh(s, keys, [&](int c, int key) { return rows.lse(c, key); });
    float sum[2] = {};
    for_each_element<kChunks>(keys, [&](int j, int c, int) { sum[c / 2] += weights.p[j][c] * weights.dp[j][c]; });
    for (float& of_row : sum) of_row = row_sum(of_row);
    weights.finish(s, keys, [&](int c, int) { return sum[c / 2]; });
    share(t.weights, weights.p, strip, keys);
    share(t.dweights, weights.dp, strip, keys);
    add_weighted(dq, weights.dp, t.k, 0, keys);
  }
  __syncthreads();  // the weights are in shared memory, the keys and values have been read
  store_gradients(HeadSlice{a.dq, feature, w.first, queries}, strip, dq, s.scale, StagedSums(t.k, w.begin));
  float dk[Width / 8][4] = {}, dv[Width / 8][4] = {};
  if (strip < keys) {
    add_columns(dv, t.weights, strip, t.dout, queries);
    add_columns(dk, t.dweights, strip, t.q, queries);
  }
  __syncthreads();  // the queries have been read
  store_gradients(HeadSlice{a.dk, feature, w.first_other, keys}, strip, dk, s.scale, StagedSums(t.q, w.begin));
  store_gradients(HeadSlice{a.dv, feature, w.first_other, keys}, strip, dv, 1, StagedSums(t.k, w.begin));
}

}  // namespace

void run_packed(Context& context, const AttentionBackward<bfloat16>& a, const AttentionCall& call) {
  const WorkList work = packed_work(context, call.queries, call.keys);
  with_tensor_width(a.scoring.width, [&](auto width) {
    launch(packed_backward<width()>, dim3(unsigned(work.count * a.scoring.heads)), dim3(kTileThreads),
           PackedTiles<width()>::kBytes, context.stream(), TensorBackward(a), work.items);
  });
}

}  // namespace gyre::cuda
