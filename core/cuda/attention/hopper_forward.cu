// Attention forward by products of warpgroups, of the segments that do not fit into one tile of 64 rows: a block has
// 128 queries and runs over tiles of 128 keys.
#include "gyre/core/cuda/attention/attention_softmax.h"
#include "gyre/core/cuda/attention/hopper_attention.h"
#include "gyre/core/cuda/runtime/environment.h"

namespace gyre::cuda {
namespace {

constexpr int kKeyRows = 128, kChunks = kKeyRows / 8;

struct HopperForward {
  TileMap q, k, v;
  HeadRows out;
  float* lse;
  int64_t query_rows;
  Scoring<float> scoring;
  int window;
  DistanceBias bias;
};

template <int Width>
using Memory = TileMemory<Width, 1, kKeyRows, (Width > 64 ? 2 : 3)>;

template <int Width>
__global__ __launch_bounds__(kHopperThreads, 1) void hopper_forward(const __grid_constant__ HopperForward a,
                                                                    const AttentionWork* work) {
  const Scoring<float>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, Width, kBlockRows);
  const Visibility visibility{w.count, w.count_other, a.window, s.causal};
  const Memory<Width> memory;
  auto stage = memory.stages();
  stage.init(1);
  const Range block_seen = visibility.keys_of(w.begin, w.begin + count - 1);
  if (!is_consumer()) {
    shrink_registers<kLoadRegisters>();
    if (int(threadIdx.x) != kConsumers) return;
    memory.load_own(int(feature), int(first), a.q);
    memory.load_stages(int(s.key_feature(head)), w.first_other, block_seen, a.k, a.v);
    return;
  }
  grow_registers<kComputeRegisters>();
  const int strip = first_row_of_warp();
  const SeenRows seen(count, [&](int i, int last) { return visibility.keys_of(w.begin + i, w.begin + last); });
  Softmax<kChunks> softmax(s);
  float out[Width / 8][4] = {};
  memory.own_loaded->wait(0);
  for (int j0 = memory.first_row(block_seen); j0 < block_seen.end; j0 += kKeyRows, stage.next()) {
    const auto k = memory.first(stage.number), v = memory.second(stage.number);
    stage.wait_until_full();
    if (w.count_other - j0 < kKeyRows) {
      clear_rows(v, w.count_other - j0);
      consumer_barrier();
    }
    if (seen.some(j0, kKeyRows)) {
      float scores[kChunks][4], factor[2];
      fence_products();
      begin_scores(scores, memory.own(0), group_row(), k);
      commit_products();
      wait_products<0>(scores);
      if (a.bias) add_bias<1>(scores, a.bias.at(head, j0 - visibility.position(w.begin + lane_row())));
      seen.mask(scores, j0);
      softmax.weigh(scores, factor, kKeyRows);
      rescale<Width>(out, factor);
      softmax.drop(scores, head, int64_t(w.first_other) + j0, kKeyRows, w.begin + strip);
      uint32_t weights[kKeyRows / 16][4];
      round_operands(weights, scores);
      fence_products(out, weights);
      begin_weighted(out, weights, v);
      commit_products();
      wait_products<0>(out);
    }
    stage.release();
  }
  consumer_barrier();  // all tiles have been read
  float inverse[2];
  softmax.finish(inverse, a.lse ? a.lse + head * a.query_rows + first : nullptr, strip, count);
  store_strip(HeadSlice{a.out, feature, first, count}, strip, out, inverse, Tile<Width>{memory.tiles});
}

// DistanceBias of a table. Blocks: distances x heads.
__global__ void pad_bias(float* to, const PositionTableRows<float> tables, float factor, int first, int64_t stride) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < stride) to[blockIdx.y * stride + i] = tables.bias_of(first + i, int(blockIdx.y)) * factor;
}

}  // namespace

bool has_hopper_attention() {
  static const bool is_there = [] {
    int device = 0, major = 0, minor = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "cudaDeviceGetAttribute");
    return major == 9 && minor == 0 && most_shared_memory() >= Memory<128>::kBytes;
  }();
  return is_there && is_on("GYRE_CUDA_WGMMA", false);
}

PaddedBias::PaddedBias(Context& context, const PositionTableRows<float>& tables, const AttentionCall& call,
                       float scale) {
  if (!tables.bias) return;
  // Pairs of a tile that has a pair which is seen are farther apart by less than the rows of two tiles.
  const int64_t window = seen_distance(call), margin = 2 * kBlockRows;
  const int64_t before = std::min<int64_t>(call.keys.longest(), window) + margin;
  const int64_t after = call.shape.causal ? margin : std::min<int64_t>(call.queries.longest(), window) + margin;
  bias.stride = before + after + 1;
  memory = context.empty({call.shape.heads, bias.stride}, DType::f32);
  bias.data = memory.data<float>() + before;
  launch(pad_bias, dim3(unsigned(divide_up(bias.stride, 256)), unsigned(call.shape.heads)), dim3(256), 0,
         context.stream(), memory.data<float>(), tables, 1 / scale, int(-before), bias.stride);
}

void run_hopper(Context& context, const AttentionForward<bfloat16>& a, const PositionTableRows<float>& tables,
                const AttentionCall& call, SegmentFilter filter) {
  const PaddedBias bias(context, tables, call, a.scoring.scale);
  const int width = a.scoring.width;
  const int64_t columns = int64_t(a.scoring.heads) * width, key_columns = int64_t(call.shape.key_heads()) * width;
  const WorkList work = attention_work(context, call.queries, call.keys, kBlockRows, filter);
  const HopperForward forward{head_map(a.q, call.q.rows.rows(), columns, width, kBlockRows),
                              head_map(a.k, call.k.rows.rows(), key_columns, width, kKeyRows),
                              head_map(a.v, call.v.rows.rows(), key_columns, width, kKeyRows),
                              {a.out, {}},
                              a.lse,
                              a.query_rows,
                              a.scoring,
                              seen_distance(call),
                              bias.bias};
  with_tensor_width(width, [&](auto constant) {
    launch(hopper_forward<constant()>, dim3(unsigned(work.count * a.scoring.heads)), dim3(kHopperThreads),
           Memory<constant()>::kBytes, context.stream(), forward, work.items);
  });
}

}  // namespace gyre::cuda
