// Attention forward on tensor cores, for bf16 heads of 32, 64 or 128 features. Segments that fit into a tile are packed
// into blocks (packed_work()). For longer segments, a block runs over the keys of one tile of queries, with online
// softmax as in attention_plain.cu, and loads the next keys and values meanwhile.
#include "gyre/core/cuda/attention/attention_softmax.h"
#include "gyre/core/kernels/gpu_blocks.h"

namespace gyre::cuda {
namespace {

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

// The keys that the lane's two queries see: those of the segment below the edge.
struct SeenKeys {
  int edge[2];

  // The strip of queries begins with query `query` of the segment.
  __device__ SeenKeys(const Scoring<float>& s, int query, int queries, int keys) {
    for (int h = 0; h < 2; ++h) {
      const int i = query + lane_of_warp() / 4 + 8 * h;
      edge[h] = i < queries ? s.edge(i, queries, keys) : 0;
    }
  }
  // Removes the scores of the other ones of n keys, the first of which is key `first` of the segment.
  __device__ void mask(float (&scores)[kChunks][4], int first, int n) const {
    if (first + n <= min(edge[0], edge[1]) && n % 16 == 0) return;
    for_each_element<kChunks>(n, [&](int j, int c, int column) {
      if (first + column >= edge[c / 2]) scores[j][c] = kNothing;
    });
  }
};

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
  const SeenKeys keys(s, strip, w.count, w.count_other);
  Softmax<kChunks> softmax(s);
  float weights[kChunks][4];
  const int seen = strip < w.count ? max(0, s.edge(min(strip + kStripRows, w.count) - 1, w.count, w.count_other)) : 0;
  if (seen > 0) {
    float factor[2];
    multiply_rows(weights, StripInTile<Width>{q, strip}, k, 0, seen);
    keys.mask(weights, 0, seen);
    softmax.weigh(weights, factor, seen);
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
  const SeenKeys seen_keys(s, query, w.count, w.count_other);
  Softmax<kChunks> softmax(s);
  float out[Width / 8][4] = {};
  const int free = for_each_tile(0, seen, load, [&](int pair, int j0) {
    const int keys = min(kTileRows, warp_seen - j0);
    if (keys <= 0) return;
    float weights[kChunks][4], factor[2];
    multiply_rows(weights, q, tiles.first(pair), 0, keys);
    seen_keys.mask(weights, j0, keys);
    softmax.weigh(weights, factor, keys);
    rescale<Width>(out, factor);
    softmax.drop(weights, head, int64_t(w.first_other) + j0, keys, query);
    add_weighted(out, weights, tiles.second(pair), 0, keys);
  });
  if (strip >= count) return;
  float inverse[2];
  softmax.finish(inverse, a.lse ? a.lse + head * a.query_rows + first : nullptr, strip, count);
  store_strip(HeadSlice{a.out, feature, first, count}, strip, out, inverse, tiles.first(free));
}

}  // namespace

void run_packed(Context& context, const AttentionForward<bfloat16>& a, const AttentionCall& call) {
  const WorkList work = packed_work(context, call.queries, call.keys);
  with_tensor_width(a.scoring.width, [&](auto width) {
    launch(packed_forward<width()>, dim3(unsigned(work.count * a.scoring.heads)), dim3(kTileThreads),
           3 * Tile<width()>::kBytes, context.stream(), TensorForward(a), work.items);
  });
}

void run_long(Context& context, const AttentionForward<bfloat16>& a, const AttentionCall& call) {
  const WorkList work = attention_work(context, call.queries, call.keys, kTileRows, SegmentFilter::not_fitting);
  with_tensor_width(a.scoring.width, [&](auto width) {
    launch(long_forward<width()>, dim3(unsigned(work.count * a.scoring.heads)), dim3(kTileThreads),
           4 * Tile<width()>::kBytes, context.stream(), TensorForward(a), work.items);
  });
}

}  // namespace gyre::cuda
