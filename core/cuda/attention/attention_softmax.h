// Online softmax of attention on tensor cores, as in attention_plain.cu.
#pragma once

#include "gyre/core/cuda/attention/attention_products.h"

namespace gyre::cuda {

constexpr float kNothing = -INFINITY;

// Online softmax of the lane's two rows, of a warp's 16 queries. Chunks: columns of scores, in units of 8.
template <int Chunks>
struct Softmax {
  const Scoring<float>& s;
  float largest[2] = {kNothing, kNothing}, sum[2] = {};  // sum: partial sum of the lane

  __device__ explicit Softmax(const Scoring<float>& s) : s(s) {}

  // Turns the scores of n keys into weights. Sets the factors of the earlier sums.
  __device__ void weigh(float (&scores)[Chunks][4], float (&factor)[2], int n) {
    float now[2] = {kNothing, kNothing}, shift[2];
    for_each_element<Chunks>(n, [&](int j, int c, int) { now[c / 2] = fmaxf(now[c / 2], scores[j][c]); });
    for (int h = 0; h < 2; ++h) {
      now[h] = fmaxf(largest[h], row_max(now[h]));
      shift[h] = now[h] > kNothing ? now[h] * s.scale_log2 : 0;
      factor[h] = fast_exp2(largest[h] * s.scale_log2 - shift[h]);
      largest[h] = now[h];
      sum[h] *= factor[h];
    }
    for_each_element<Chunks>(n, [&](int j, int c, int) {
      scores[j][c] = fast_exp2(scores[j][c] * s.scale_log2 - shift[c / 2]);
      sum[c / 2] += scores[j][c];
    });
  }

  // Dropout of these weights. The keys begin with row first_key of the batch, the queries with `query` of the segment.
  __device__ void drop(float (&weights)[Chunks][4], int head, int64_t first_key, int n, int query) const {
    if (!s.dropout.active()) return;
#pragma unroll
    for (int chunk = 0; chunk < Chunks; chunk += 8) {
      KeptWeights kept;
      kept.draw_by_query(s, head, first_key + 8 * chunk, min(n - 8 * chunk, 64), query);
      gyre::cuda::drop(weights, chunk, n - 8 * chunk, kept, s.kept);
    }
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

}  // namespace gyre::cuda
