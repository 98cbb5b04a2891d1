// Attention backward on tensor cores: its arguments, and the weights of a strip with their gradients. Formulas:
// core/cpu/attention/attention_backward.cpp.
#pragma once

#include "gyre/core/cuda/attention/attention_products.h"

namespace gyre::cuda {

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
        q(rotated(a.q, a.rotated_q, a.query_rotation)),
        k(rotated(a.k, a.rotated_k, a.key_rotation)),
        v(a.v, {}),
        lse(a.lse),
        sums(a.sums),
        query_rows(a.query_rows),
        scoring(a.scoring) {}

 private:
  static HeadRows rotated(const Rows<bfloat16>& rows, const Rows<bfloat16>& copy, const RopeRows<float>& row_rotation) {
    return copy.data ? HeadRows(copy, {}) : HeadRows(rows, row_rotation);
  }
};

constexpr float kInvisible = INFINITY;  // log-sum-exp of a query that has the weight 0

// The weights of the 16 rows of a strip and of 8 * Chunks columns, in the layout of sums of products, and their
// gradients.
template <int Chunks>
struct StripWeights {
  float p[Chunks][4];   // scores, then p, then m p
  float dp[Chunks][4];  // dp, then m dp, then ds / scale
  KeptWeights kept;

  // Turns scores into p and multiplies dp by the dropout factors. lse(c, column): the log-sum-exp of the query, times
  // log2(e), or kInvisible.
  template <class Lse>
  __device__ void weigh(const Scoring<float>& s, int n, const Lse& lse) {
    for_each_element<Chunks>(n, [&](int j, int c, int column) {
      p[j][c] = fast_exp2(p[j][c] * s.scale_log2 - lse(c, column));
      if (s.dropout.active()) dp[j][c] = kept.kept(j, c) ? dp[j][c] * s.kept : 0;
    });
  }
  // sum(c, column): D of the query.
  template <class Sum>
  __device__ void finish(const Scoring<float>& s, int n, const Sum& sum) {
    for_each_element<Chunks>(n, [&](int j, int c, int column) {
      dp[j][c] = p[j][c] * (dp[j][c] - sum(c, column));
      if (s.dropout.active()) p[j][c] = kept.kept(j, c) ? p[j][c] * s.kept : 0;
    });
  }
};

// The lane's two rows, of a strip of queries.
struct StripQueries {
  int edge[2];  // the query sees the keys of the segment below the edge
  float lse_log2[2];

  // The strip begins with query `query` of the segment. lse: of the first query of the segment.
  __device__ StripQueries(const Scoring<float>& s, const float* lse, int query, int queries, int keys) {
    for (int h = 0; h < 2; ++h) {
      const int i = query + lane_of_warp() / 4 + 8 * h;
      edge[h] = i < queries ? s.edge(i, queries, keys) : 0;
      lse_log2[h] = i < queries ? lse[i] * std::numbers::log2e_v<float> : 0;
    }
  }
  __device__ float lse(int c, int key) const { return key < edge[c / 2] ? lse_log2[c / 2] : kInvisible; }
};

}  // namespace gyre::cuda
