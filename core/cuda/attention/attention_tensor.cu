// Attention forward on tensor cores, for bf16 heads of 32, 64 or 128 features. Segments that fit into a tile are packed
// into blocks (packed_work()). For longer segments, a block runs over the keys of one tile of queries, with online
// softmax as in attention_plain.cu, and loads the next keys and values meanwhile.
#include "gyre/core/cuda/attention/attention_products.h"
#include "gyre/core/kernels/gpu_blocks.h"

namespace gyre::cuda {
namespace {

constexpr float kNothing = -INFINITY;
constexpr int kChunks = kTileRows / 8;

struct TensorForward {
  HeadRows out, q, k, v;
  float* lse;
  int64_t query_rows;
  Scoring<float> scoring;

  explicit TensorForward(const AttentionForward<bfloat16>& a)
      : out(a.out, {}),
        q(a.q, a.query_rotation),
        k(a.k, a.key_rotation),
        v(a.v, {}),
        lse(a.lse),
        query_rows(a.query_rows),
        scoring(a.scoring) {}
};

// Online softmax of the lane's two rows, of a warp's 16 queries.
struct Softmax {
  const Scoring<float>& s;
  int edge[2];                                           // the query sees the keys of the segment below the edge
  float largest[2] = {kNothing, kNothing}, sum[2] = {};  // sum: partial sum of the lane

  // The strip of queries begins with query `query` of the segment.
  __device__ Softmax(const Scoring<float>& s, int query, int queries, int keys) : s(s) {
    for (int h = 0; h < 2; ++h) {
      const int i = query + lane_of_warp() / 4 + 8 * h;
      edge[h] = i < queries ? s.edge(i, queries, keys) : 0;
    }
  }

  // Turns the scores of n keys, the first of which is key `first` of the segment, into weights. Sets the factors of the
  // earlier sums.
  __device__ void weigh(float (&scores)[kChunks][4], float (&factor)[2], int first, int n) {
    if (first + n > min(edge[0], edge[1]) || n % 16 != 0) {
      for_each_element<kChunks>(n, [&](int j, int c, int column) {
        if (first + column >= edge[c / 2]) scores[j][c] = kNothing;
      });
    }
    float now[2] = {kNothing, kNothing}, shift[2];
    for_each_element<kChunks>(n, [&](int j, int c, int) { now[c / 2] = fmaxf(now[c / 2], scores[j][c]); });
    for (int h = 0; h < 2; ++h) {
      now[h] = fmaxf(largest[h], row_max(now[h]));
      shift[h] = now[h] > kNothing ? now[h] * s.scale_log2 : 0;
      factor[h] = fast_exp2(largest[h] * s.scale_log2 - shift[h]);
      largest[h] = now[h];
      sum[h] *= factor[h];
    }
    for_each_element<kChunks>(n, [&](int j, int c, int) {
      scores[j][c] = fast_exp2(scores[j][c] * s.scale_log2 - shift[c / 2]);
      sum[c / 2] += scores[j][c];
    });
  }

  __device__ void drop(float (&weights)[kChunks][4], int head, int64_t first_key, int n, int query) const {
    if (!s.dropout.active()) return;
    KeptWeights kept;
    kept.draw_by_query(s, head, first_key, n, query);
    for_each_element<kChunks>(n,
                              [&](int j, int c, int) { weights[j][c] = kept.kept(j, c) ? weights[j][c] * s.kept : 0; });
  }

  // Stores the log-sum-exp of the strip's rows below `count`, from lse[0] on, if there is an lse, and computes the
  // inverse sums.
  __device__ void finish(float (&inverse)[2], float* lse, int strip, int count) const {
    for (int h = 0; h < 2; ++h) {
      const float all = row_sum(sum[h]);
      const int row = strip + lane_of_warp() / 4 + 8 * h;
      inverse[h] = all > 0 ? 1 / all : 0;
      if (lse && lane_of_warp() % 4 == 0 && row < count) {
        lse[row] = all > 0 ? (largest[h] * s.scale_log2 + log2f(all)) * std::numbers::ln2_v<float> : kNothing;
      }
    }
  }
};

template <int Width>
__device__ inline void rescale(float (&out)[Width / 8][4], const float (&factor)[2]) {
#pragma unroll
  for (int n = 0; n < Width / 8; ++n)
    for (int c = 0; c < 4; ++c) out[n][c] *= factor[c / 2];
}

template <int Width>
__global__ __launch_bounds__(kTileThreads,
                             packed_forward_blocks(Width)) void packed_forward(const TensorForward a,
                                                                               const AttentionWork* work) {
  const Scoring<float>& s = a.scoring;
  const auto [w, head, strip, feature] = StripWork(work, s.heads, Width);
  const HeadSlice queries{a.q, feature, w.first, w.count};
  Tile<Width> q{shared_memory<bfloat16>() + w.begin * Tile<Width>::kStride};
  const Tile<Width> k{q.data + q.kElements}, v{k.data + k.kElements};
  load_strip(q, queries, strip);
  load_strip(k, HeadSlice{a.k, s.key_feature(head), w.first_other, w.count_other}, strip);
  commit_copies();
  copy_strip(v, HeadSlice{a.v, s.key_feature(head), w.first_other, w.count_other}, strip);
  commit_copies();
  wait_copies<1>();
  __syncthreads();
  Softmax softmax(s, strip, w.count, w.count_other);
  float weights[kChunks][4];
  const int seen = strip < w.count ? max(0, s.edge(min(strip + kStripRows, w.count) - 1, w.count, w.count_other)) : 0;
  if (seen > 0) {
    float factor[2];
    multiply_rows(weights, StripInTile<Width>{q, strip}, k, 0, seen);
    softmax.weigh(weights, factor, 0, seen);
    softmax.drop(weights, head, w.first_other, seen, strip);
  }
  wait_copies<0>();
  __syncthreads();
  if (strip >= w.count) return;
  float out[Width / 8][4] = {}, inverse[2];
  if (seen > 0) add_weighted(out, weights, v, 0, seen);
  softmax.finish(inverse, a.lse ? a.lse + head * a.query_rows + w.first : nullptr, strip, w.count);
  store_strip(HeadSlice{a.out, feature, w.first, w.count}, strip, out, inverse, q);
}

template <int Width>
__global__ __launch_bounds__(kTileThreads, long_forward_blocks(Width)) void long_forward(const TensorForward a,
                                                                                         const AttentionWork* work) {
  const Scoring<float>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, Width, kTileRows);
  const int strip = first_row_of_warp(), query = w.begin + strip;
  const TilePairs<Width> tiles{shared_memory<bfloat16>()};  // keys and values
  const auto load = [&](int pair, int j0) {
    const int64_t row = int64_t(w.first_other) + j0;
    const int keys = min(kTileRows, w.count_other - j0);
    copy_strip(tiles.first(pair), HeadSlice{a.k, s.key_feature(head), row, keys}, strip);
    copy_strip(tiles.second(pair), HeadSlice{a.v, s.key_feature(head), row, keys}, strip);
  };
  // The queries use the place of the second keys until they are in registers.
  copy_strip(tiles.first(1), HeadSlice{a.q, feature, first, count}, strip);
  commit_copies();
  const int seen = s.edge(w.begin + count - 1, w.count, w.count_other);  // the last key that the block sees
  const int warp_seen = strip < count ? s.edge(min(query + kStripRows, w.count) - 1, w.count, w.count_other) : 0;
  if (seen > 0) load(0, 0);
  commit_copies();
  wait_copies<1>();
  __syncwarp();
  const StripInRegisters<Width> q(tiles.first(1), strip);
  Softmax softmax(s, query, w.count, w.count_other);
  float out[Width / 8][4] = {};
  const int free = for_each_tile(0, seen, load, [&](int pair, int j0) {
    const int keys = min(kTileRows, warp_seen - j0);
    if (keys <= 0) return;
    float weights[kChunks][4], factor[2];
    multiply_rows(weights, q, tiles.first(pair), 0, keys);
    softmax.weigh(weights, factor, j0, keys);
    rescale<Width>(out, factor);
    softmax.drop(weights, head, int64_t(w.first_other) + j0, keys, query);
    add_weighted(out, weights, tiles.second(pair), 0, keys);
  });
  if (strip >= count) return;
  float inverse[2];
  softmax.finish(inverse, a.lse ? a.lse + head * a.query_rows + first : nullptr, strip, count);
  store_strip(HeadSlice{a.out, feature, first, count}, strip, out, inverse, tiles.first(free));
}

template <int Width>
void run(Context& context, const TensorForward& a, const AttentionCall& call) {
  const auto launch_over = [&](auto kernel, int64_t tiles, const WorkList& work) {
    launch(kernel, dim3(unsigned(work.count * a.scoring.heads)), dim3(kTileThreads),
           size_t(tiles) * Tile<Width>::kElements * sizeof(bfloat16), context.stream(), a, work.items);
  };
  launch_over(packed_forward<Width>, 3, packed_work(context, call.queries, call.keys));
  launch_over(long_forward<Width>, 4,
              attention_work(context, call.queries, call.keys, kTileRows, SegmentFilter::not_fitting));
}

}  // namespace

void run_tensor(Context& context, const AttentionForward<bfloat16>& a, const AttentionCall& call) {
  const TensorForward forward(a);
  with_tensor_width(a.scoring.width, [&](auto width) { run<width()>(context, forward, call); });
}

}  // namespace gyre::cuda
