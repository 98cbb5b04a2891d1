// Attention backward by products of warpgroups, of the segments that do not fit into one tile of 64 rows. As in
// attention_tensor_backward_long.cu, one kernel runs over tiles of queries and passes over their keys, for D_i and
// dq_i, and one over tiles of keys and passes over the queries of all heads that share them, for dk_j and dv_j. The
// latter computes transposed scores, so that the weights are left operands in registers.
#include "gyre/core/cuda/attention/hopper_attention.h"

namespace gyre::cuda {
namespace {

struct HopperBackward {
  TileMap q, dout, k, v;
  TensorBackward a;
  int window;
  DistanceBias bias;
};

// ---- Over queries --------------------------------------------------------------------------------------------------

template <int Width>
constexpr int kKeyRows = Width > 64 ? 64 : 128;
template <int Width>
using QueryMemory = TileMemory<Width, 2, kKeyRows<Width>, 2>;

template <int Width>
__global__ __launch_bounds__(kHopperThreads,
                             1) void hopper_backward_of_queries(const __grid_constant__ HopperBackward arguments,
                                                                const AttentionWork* work) {
  constexpr int kRows = kKeyRows<Width>, kChunks = kRows / 8;
  const TensorBackward& a = arguments.a;
  const Scoring<float>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, Width, kBlockRows);
  const Visibility visibility{w.count, w.count_other, arguments.window, s.causal};
  const QueryMemory<Width> memory;
  auto stage = memory.stages();
  stage.init(1);
  const Range block_seen = visibility.keys_of(w.begin, w.begin + count - 1);
  if (!is_consumer()) {
    shrink_registers<kLoadRegisters>();
    if (int(threadIdx.x) != kConsumers) return;
    memory.load_own(int(feature), int(first), arguments.q, arguments.dout);
    memory.load_stages(int(s.key_feature(head)), w.first_other, block_seen, arguments.k, arguments.v);
    return;
  }
  grow_registers<kComputeRegisters>();
  const int strip = first_row_of_warp();
  const int64_t saved = head * a.query_rows + first;
  const SeenRows seen(count, [&](int i, int last) { return visibility.keys_of(w.begin + i, w.begin + last); });
  float sum[2], exact_sum[2] = {}, lse_log2[2];
  row_dots<Width>(sum, HeadSlice{a.dout, feature, first, count}, HeadSlice{a.out, feature, first, count}, strip);
  for (int h = 0; h < 2; ++h) {
    const bool sees_keys = seen.of_row[h].begin < seen.of_row[h].end;
    lse_log2[h] = sees_keys ? a.lse[saved + lane_row() + 8 * h] * std::numbers::log2e_v<float> : kInvisible;
  }
  float dq[Width / 8][4] = {};
  memory.own_loaded->wait(0);
  for (int j0 = memory.first_row(block_seen); j0 < block_seen.end; j0 += kRows, stage.next()) {
    const auto k = memory.first(stage.number), v = memory.second(stage.number);
    stage.wait_until_full();
    if (w.count_other - j0 < kRows) {
      clear_rows(k, w.count_other - j0);
      clear_rows(v, w.count_other - j0);
      consumer_barrier();
    }
    if (seen.some(j0, kRows)) {
      float p[kChunks][4], dp[kChunks][4];
      fence_products();
      begin_scores(p, memory.own(0), group_row(), k);
      begin_scores(dp, memory.own(1), group_row(), v);
      commit_products();
      wait_products<0>(p, dp);
      if (arguments.bias) add_bias<1>(p, arguments.bias.at(head, j0 - visibility.position(w.begin + lane_row())));
      seen.mask(p, j0);
      // Each step for all elements before the next one: the compiler keeps branches around blocks, not around elements.
      if (s.dropout.active()) {
#pragma unroll
        for (int chunk = 0; chunk < kChunks; chunk += 8) {
          KeptWeights kept;
          kept.draw_by_query(s, head, int64_t(w.first_other) + j0 + 8 * chunk, 64, w.begin + strip);
          drop(dp, chunk, 64, kept, s.kept);
        }
      }
      for_each_element<kChunks>(kRows, [&](int j, int c, int) {
        const float weight = fast_exp2(p[j][c] * s.scale_log2 - lse_log2[c / 2]);
        exact_sum[c / 2] += weight * dp[j][c];
        dp[j][c] = weight * (dp[j][c] - sum[c / 2]);
      });
      uint32_t dweights[kRows / 16][4];
      round_operands(dweights, dp);
      fence_products(dq, dweights);
      begin_weighted(dq, dweights, k);
      commit_products();
      wait_products<0>(dq);
    }
    stage.release();
  }
  consumer_barrier();  // all tiles have been read
  for (int h = 0; h < 2; ++h) {
    const int row = lane_row() + 8 * h;
    exact_sum[h] = row_sum(exact_sum[h]);
    if (lane_of_warp() % 4 == 0 && row < count) a.sums[saved + row] = exact_sum[h];
  }
  store_gradients(HeadSlice{a.dq, feature, first, count}, strip, dq, s.scale,
                  StagedSums<Width>(Tile<Width>{memory.tiles}));
}

// ---- Over keys -----------------------------------------------------------------------------------------------------

constexpr int kQueryRows = 64, kQueryChunks = kQueryRows / 8;

// Behind the tiles are the numbers of the queries of each stage: the log-sum-exp, times log2(e), and the sums D.
template <int Width>
struct KeyMemory : TileMemory<Width, 2, kQueryRows, (Width > 64 ? 2 : 3)> {
  using Tiles = TileMemory<Width, 2, kQueryRows, (Width > 64 ? 2 : 3)>;
  static constexpr size_t kBytes = Tiles::kBytes + size_t{2 * Tiles::kStages} * kQueryRows * sizeof(float);

  __device__ float* lse_log2(int stage) const {
    return reinterpret_cast<float*>(this->first(Tiles::kStages).data) + 2 * stage * kQueryRows;
  }
  __device__ float* sums(int stage) const { return lse_log2(stage) + kQueryRows; }
};

// Loads the tiles of queries of all heads of the group, by one warp.
template <int Width>
__device__ void load_queries(const HopperBackward& arguments, const KeyMemory<Width>& memory, const AttentionWork& w,
                             int key_head, Range seen) {
  const TensorBackward& a = arguments.a;
  auto stage = memory.stages();
  for (int head = key_head * a.scoring.group; head < (key_head + 1) * a.scoring.group; ++head) {
    const int64_t saved = head * a.query_rows + w.first_other;
    for (int i0 = memory.first_row(seen); i0 < seen.end; i0 += kQueryRows, stage.next()) {
      stage.wait_until_empty();
      for (int i = lane_of_warp(); i < kQueryRows; i += kWarp) {
        const bool inside = i0 + i < w.count_other;
        const float lse = inside ? a.lse[saved + i0 + i] : -INFINITY;
        // A query that sees no key has the log-sum-exp -infinity.
        memory.lse_log2(stage.number)[i] = lse > -INFINITY ? lse * std::numbers::log2e_v<float> : kInvisible;
        memory.sums(stage.number)[i] = inside ? a.sums[saved + i0 + i] : 0;
      }
      if (lane_of_warp() != 0) {
        stage.full[stage.number].arrive();
        continue;
      }
      memory.load_stage(stage, head * Width, w.first_other + i0, arguments.q, arguments.dout);
    }
  }
}

template <int Width>
__global__ __launch_bounds__(kHopperThreads,
                             1) void hopper_backward_of_keys(const __grid_constant__ HopperBackward arguments,
                                                             const AttentionWork* work) {
  const TensorBackward& a = arguments.a;
  const Scoring<float>& s = a.scoring;
  const auto [w, key_head, count, first, feature] = BlockWork(work, s.heads / s.group, Width, kBlockRows);
  const Visibility visibility{w.count_other, w.count, arguments.window, s.causal};
  const KeyMemory<Width> memory;
  auto stage = memory.stages();
  stage.init(kWarp);
  const Range block_seen = visibility.queries_of(w.begin, w.begin + count - 1);
  if (!is_consumer()) {
    shrink_registers<kLoadRegisters>();
    if (int(threadIdx.x) >= kConsumers + kWarp) return;
    if (lane_of_warp() == 0) memory.load_own(int(feature), int(first), arguments.k, arguments.v);
    load_queries(arguments, memory, w, key_head, block_seen);
    return;
  }
  grow_registers<kComputeRegisters>();
  const int strip = first_row_of_warp();
  const SeenRows seen(count, [&](int i, int last) { return visibility.queries_of(w.begin + i, w.begin + last); });
  float dk[Width / 8][4] = {}, dv[Width / 8][4] = {};
  memory.own_loaded->wait(0);
  for (int head = key_head * s.group; head < (key_head + 1) * s.group; ++head) {
    for (int i0 = memory.first_row(block_seen); i0 < block_seen.end; i0 += kQueryRows, stage.next()) {
      const auto q = memory.first(stage.number), dout = memory.second(stage.number);
      stage.wait_until_full();
      if (w.count_other - i0 < kQueryRows) {
        clear_rows(q, w.count_other - i0);
        clear_rows(dout, w.count_other - i0);
        consumer_barrier();
      }
      if (seen.some(i0, kQueryRows)) {
        float p[kQueryChunks][4], dp[kQueryChunks][4];
        fence_products();
        begin_scores(p, memory.own(0), group_row(), q);
        begin_scores(dp, memory.own(1), group_row(), dout);
        commit_products();
        wait_products<0>(p, dp);
        if (arguments.bias) add_bias<-1>(p, arguments.bias.at(head, w.begin + lane_row() - visibility.position(i0)));
        seen.mask(p, i0);
        KeptWeights kept;
        if (s.dropout.active()) {
          kept.draw_by_key(s, head, first + strip, i0, kQueryRows);
          drop(dp, 0, kQueryRows, kept, s.kept);
        }
        const float *lse_log2 = memory.lse_log2(stage.number), *sums = memory.sums(stage.number);
        for_each_element<kQueryChunks>(kQueryRows, [&](int j, int c, int column) {
          p[j][c] = fast_exp2(p[j][c] * s.scale_log2 - lse_log2[column]);
          dp[j][c] = p[j][c] * (dp[j][c] - sums[column]);
        });
        if (s.dropout.active()) drop(p, 0, kQueryRows, kept, s.kept);
        uint32_t weights[kQueryRows / 16][4], dweights[kQueryRows / 16][4];
        round_operands(weights, p);
        round_operands(dweights, dp);
        fence_products(dv, weights, dk, dweights);
        begin_weighted(dv, weights, dout);
        begin_weighted(dk, dweights, q);
        commit_products();
        wait_products<0>(dv, dk);
      }
      stage.release();
    }
  }
  consumer_barrier();  // all tiles have been read
  const StagedSums<Width> staged(Tile<Width>{memory.tiles});
  store_gradients(HeadSlice{a.dk, feature, first, count}, strip, dk, s.scale, staged);
  store_gradients(HeadSlice{a.dv, feature, first, count}, strip, dv, 1, staged);
}

}  // namespace

void run_hopper(Context& context, const AttentionBackward<bfloat16>& arguments, const PositionTableRows<float>& tables,
                const AttentionCall& call, SegmentFilter filter) {
  const TensorBackward a(arguments);
  const PaddedBias bias(context, tables, call, a.scoring.scale);
  const int width = a.scoring.width, heads = a.scoring.heads, key_heads = call.shape.key_heads();
  const auto launch_over = [&](auto kernel, size_t bytes, const WorkList& work, int heads_of_rows, int query_rows,
                               int key_rows) {
    const auto queries = [&](const HeadRows& rows) {
      return head_map(rows.rows, call.q.rows.rows(), int64_t(heads) * width, width, query_rows);
    };
    const auto keys = [&](const HeadRows& rows) {
      return head_map(rows.rows, call.k.rows.rows(), int64_t(key_heads) * width, width, key_rows);
    };
    launch(kernel, dim3(unsigned(work.count * heads_of_rows)), dim3(kHopperThreads), bytes, context.stream(),
           HopperBackward{queries(a.q), queries(a.dout), keys(a.k), keys(a.v), a, seen_distance(call), bias.bias},
           work.items);
  };
  with_tensor_width(width, [&](auto constant) {
    constexpr int kWidth = constant();
    launch_over(hopper_backward_of_queries<kWidth>, QueryMemory<kWidth>::kBytes,
                attention_work(context, call.queries, call.keys, kBlockRows, filter), heads, kBlockRows,
                kKeyRows<kWidth>);
    if (!a.dk.requested() && !a.dv.requested()) return;
    launch_over(hopper_backward_of_keys<kWidth>, KeyMemory<kWidth>::kBytes,
                attention_work(context, call.keys, call.queries, kBlockRows, filter), key_heads, kQueryRows,
                kBlockRows);
  });
}

}  // namespace gyre::cuda
