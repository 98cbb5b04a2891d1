// Attention forward on tensor cores, for bf16 heads of 32, 64 or 128 features, with online softmax as in
// attention_plain.cu. The values of a tile are loaded while its scores are computed, and the next keys while the
// weighted values are summed.
#include "gyre/core/cuda/attention/attention_tiles.h"

namespace gyre::cuda {
namespace {

constexpr float kNothing = -INFINITY;

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

// Online softmax of the lane's two rows, of the warp's queries.
template <int Width>
struct Softmax {
  float largest[2] = {kNothing, kNothing}, sum[2] = {};  // sum: partial sum of the lane
  float out[Width / 8][4] = {};

  // Turns the scores of keys below edge[row] into weights, and the others into 0. Column 0 is key `first`.
  __device__ void weigh(float (&scores)[kTileRows / 8][4], const int (&edge)[2], int first, int keys, float scale) {
    const int column = first + 2 * (int(threadIdx.x) % 4);
    float now[2] = {kNothing, kNothing}, shift[2];
#pragma unroll
    for (int n = 0; n < kTileRows / 8; ++n) {
      if (n / 2 * 16 >= keys) break;
      for (int c = 0; c < 4; ++c) {
        scores[n][c] = column + 8 * n + c % 2 < edge[c / 2] ? scores[n][c] * scale : kNothing;
        now[c / 2] = fmaxf(now[c / 2], scores[n][c]);
      }
    }
    for (int h = 0; h < 2; ++h) {
      now[h] = fmaxf(largest[h], row_max(now[h]));
      shift[h] = now[h] > kNothing ? now[h] : 0;
      const float factor = exp2f(largest[h] - shift[h]);
      largest[h] = now[h];
      sum[h] *= factor;
#pragma unroll
      for (int n = 0; n < Width / 8; ++n) {
        out[n][2 * h] *= factor;
        out[n][2 * h + 1] *= factor;
      }
    }
#pragma unroll
    for (int n = 0; n < kTileRows / 8; ++n) {
      if (n / 2 * 16 >= keys) break;
      for (int c = 0; c < 4; ++c) {
        scores[n][c] = exp2f(scores[n][c] - shift[c / 2]);
        sum[c / 2] += scores[n][c];
      }
    }
  }
};

__device__ inline void drop(float (&weights)[kTileRows / 8][4], const Scoring<float>& s, int head, int64_t first_key,
                            int keys, int first_query) {
  KeptWeights kept;
  kept.draw(s, head, first_key, keys, first_query);
#pragma unroll
  for (int n = 0; n < kTileRows / 8; ++n)
    for (int c = 0; c < 4; ++c) weights[n][c] = kept.kept(n, c) ? weights[n][c] * s.kept : 0;
}

template <int Width>
__global__ __launch_bounds__(kTileThreads) void tensor_forward(const TensorForward a, const AttentionWork* work) {
  const Scoring<float>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, Width, kTileRows);
  const int lane = int(threadIdx.x) % kWarp, warp_row = int(threadIdx.x) / kWarp * kWarpRows;
  const int64_t first_key = w.first_other;
  bfloat16* shared = shared_memory<bfloat16>();
  const Tile<Width> q{shared}, k{shared + q.kElements}, v{shared + 2 * q.kElements};
  const int seen = s.edge(w.begin + count - 1, w.count, w.count_other);
  int edge[2];
  for (int h = 0; h < 2; ++h) {
    const int row = warp_row + lane / 4 + 8 * h;
    edge[h] = row < count ? s.edge(w.begin + row, w.count, w.count_other) : 0;
  }
  Softmax<Width> softmax;
  load_tile(q, a.q, feature, first, count);
  load_tile(k, a.k, feature, first_key, min(kTileRows, seen));
  load_tile(v, a.v, feature, first_key, min(kTileRows, seen));
  commit_copies();
  for (int j0 = 0; j0 < seen; j0 += kTileRows) {
    const int keys = min(kTileRows, seen - j0);
    wait_copies<0>();
    __syncthreads();  // the keys are loaded, the previous values have been read
    if (j0 > 0) load_tile(v, a.v, feature, first_key + j0, keys);
    commit_copies();
    float weights[kTileRows / 8][4];
    if (warp_row < count) {
      multiply_rows(weights, q, warp_row, k, keys);
      softmax.weigh(weights, edge, j0, keys, s.scale_log2);
      if (s.dropout.active()) drop(weights, s, head, first_key + j0, keys, w.begin + warp_row);
    }
    wait_copies<0>();
    __syncthreads();  // the values are loaded, the keys have been read
    if (j0 + kTileRows < seen)
      load_tile(k, a.k, feature, first_key + j0 + kTileRows, min(kTileRows, seen - j0 - kTileRows));
    commit_copies();
    if (warp_row < count) add_weighted(softmax.out, weights, v, keys);
  }
  wait_copies<0>();
  __syncthreads();
  float inverse[2];
  for (int h = 0; h < 2; ++h) {
    const float sum = row_sum(softmax.sum[h]);
    const int row = warp_row + lane / 4 + 8 * h;
    inverse[h] = sum > 0 ? 1 / sum : 0;
    if (a.lse && lane % 4 == 0 && row < count) {
      const float lse = (softmax.largest[h] + log2f(sum)) * std::numbers::ln2_v<float>;
      a.lse[head * a.query_rows + first + row] = sum > 0 ? lse : kNothing;
    }
  }
  store_sums(a.out, feature, first, count, softmax.out, inverse, StagedSums<Width>(q));
}

template <int Width>
void run(Context& context, const TensorForward& a, const Segments& queries, const Segments& keys) {
  const WorkList work = attention_work(context, queries, keys, kTileRows, SegmentFilter::all);
  launch(tensor_forward<Width>, dim3(unsigned(work.count * a.scoring.heads)), dim3(kTileThreads),
         3 * Tile<Width>::kElements * sizeof(bfloat16), context.stream(), a, work.items);
}

}  // namespace

void run_tensor(Context& context, const AttentionForward<bfloat16>& a, const Segments& queries, const Segments& keys) {
  const TensorForward call(a);
  with_tensor_width(a.scoring.width, [&](auto width) { run<width()>(context, call, queries, keys); });
}

}  // namespace gyre::cuda
