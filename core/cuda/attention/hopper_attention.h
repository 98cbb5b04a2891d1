// Parts of the attention kernels for compute capability 9.0. A block has two warpgroups of consumers, each with 64
// rows of the block's tile, and a third one, of which one warp loads the tiles of the other side in stages. Formulas:
// attention_tensor.cu and attention_tensor_backward_long.cu. No GPU has run these kernels yet, so they are off unless
// GYRE_CUDA_WGMMA=1.
#pragma once

#include <algorithm>

#include "gyre/core/cuda/attention/attention_weights.h"
#include "gyre/core/cuda/hopper.h"

namespace gyre::cuda {

constexpr int kGroupRows = 64, kBlockRows = 2 * kGroupRows;
constexpr int kConsumers = 2 * kWarpgroup, kHopperThreads = kConsumers + kWarpgroup;
constexpr int kConsumerWarps = kConsumers / kWarp;
// Registers of a thread that loads and of one that computes. Together they are those that a block is launched with.
constexpr int kLoadRegisters = 24, kComputeRegisters = 240, kLaunchRegisters = 65536 / kHopperThreads / 8 * 8;
static_assert(kWarpgroup * kLoadRegisters + kConsumers * kComputeRegisters == kHopperThreads * kLaunchRegisters);

__device__ inline bool is_consumer() { return int(threadIdx.x) < kConsumers; }
// A barrier of the consumers alone.
__device__ inline void consumer_barrier() { named_barrier(1, kConsumers); }

// The first row of the tile that the thread's warpgroup has.
__device__ inline int group_row() { return int(threadIdx.x) / kWarpgroup * kGroupRows; }
// The first of the lane's two rows of the tile; the other one is 8 rows below.
__device__ inline int lane_row() { return first_row_of_warp() + lane_of_warp() / 4; }

// The rows from `begin` to before `end` of a segment.
struct Range {
  int begin, end;
};

// The keys that queries of a segment see, and vice versa. Keys at a larger distance than `window` are not seen.
struct Visibility {
  int queries, keys, window;
  bool causal;

  __device__ int position(int query) const { return query + keys - queries; }  // the key at distance 0
  // The keys that one of the queries from `first` to `last` sees.
  __device__ Range keys_of(int first, int last) const {
    return {max(0, position(first) - window), min(keys, position(last) + (causal ? 1 : window + 1))};
  }
  // The queries that see one of the keys from `first` to `last`.
  __device__ Range queries_of(int first, int last) const {
    const int origin = queries - keys;
    return {max(0, first + origin - (causal ? 0 : window)), min(queries, last + origin + window + 1)};
  }
};

// The rows that rows of a tile see, of those that the block passes over.
struct SeenRows {
  Range of_group, of_row[2];  // those of the warpgroup, those of the lane

  // range(first, last) is what rows `first` to `last` of the tile see. The tile has `count` rows.
  template <class F>
  __device__ SeenRows(int count, const F& range)
      : of_group(group_row() < count ? range(group_row(), min(group_row() + kGroupRows, count) - 1) : Range{0, 0}) {
    for (int h = 0; h < 2; ++h) {
      const int row = lane_row() + 8 * h;
      of_row[h] = row < count ? range(row, row) : Range{0, 0};
    }
  }
  // Whether the warpgroup sees one of the n rows from `first` on.
  __device__ bool some(int first, int n) const { return first < of_group.end && first + n > of_group.begin; }
  // Removes the scores of pairs that are not seen, of columns that begin with row `first`.
  template <int Chunks>
  __device__ void mask(float (&scores)[Chunks][4], int first) const {
    if (first >= max(of_row[0].begin, of_row[1].begin) && first + 8 * Chunks <= min(of_row[0].end, of_row[1].end))
      return;
    for_each_element<Chunks>(8 * Chunks, [&](int j, int c, int column) {
      const Range& seen = of_row[c / 2];
      if (first + column < seen.begin || first + column >= seen.end) scores[j][c] = -INFINITY;
    });
  }
};

// Stages of tiles in shared memory, which consumers and the loading warp pass through in the same order.
template <int Stages>
struct Stage {
  Barrier* full;  // barriers that open when a stage is full; those for empty stages follow
  int number = 0, parity = 0;

  // By all threads of the block. Also initializes the barrier before `full`, that of the block's own tiles. arrivals:
  // of threads that load a stage.
  __device__ void init(int arrivals) const {
    if (threadIdx.x == 0) {
      full[-1].init(1);
      for (int i = 0; i < Stages; ++i) {
        full[i].init(arrivals);
        full[Stages + i].init(kConsumerWarps);
      }
      fence_barriers();
    }
    __syncthreads();
  }
  __device__ void wait_until_empty() const { full[Stages + number].wait(parity ^ 1); }
  __device__ void wait_until_full() const { full[number].wait(parity); }
  // By all lanes of a warp that has read the stage.
  __device__ void release() const {
    __syncwarp();
    if (lane_of_warp() == 0) full[Stages + number].arrive();
  }
  __device__ void next() {
    if (++number < Stages) return;
    number = 0;
    parity ^= 1;
  }
};

// Shared memory of a block: its barriers, and from byte 1,024 on the block's own tiles of 128 rows, and then stages of
// two tiles of the other side.
template <int Width, int OwnTiles, int OtherRows, int Stages>
struct TileMemory {
  static constexpr int kStages = Stages;
  using Own = SwizzledTile<kBlockRows, Width>;
  using Other = SwizzledTile<OtherRows, Width>;
  static constexpr size_t kBytes = 1024 + size_t{OwnTiles} * Own::kBytes + size_t{2 * kStages} * Other::kBytes;

  Barrier* own_loaded = reinterpret_cast<Barrier*>(tile_memory());  // the barriers of the stages follow
  bfloat16* tiles = reinterpret_cast<bfloat16*>(tile_memory() + 1024);

  __device__ Own own(int tile) const { return {tiles + tile * Own::kElements}; }
  __device__ Other first(int stage) const { return {tiles + OwnTiles * Own::kElements + 2 * stage * Other::kElements}; }
  __device__ Other second(int stage) const { return {first(stage).data + Other::kElements}; }
  __device__ Stage<Stages> stages() const { return {own_loaded + 1}; }

  // Loads own tiles from the same place of each map, by one thread.
  template <class... Maps>
  __device__ void load_own(int column, int row, const Maps&... maps) const {
    static_assert(sizeof...(maps) == OwnTiles);
    own_loaded->expect(OwnTiles * Own::kBytes);
    int tile = 0;
    (load_tile(own(tile++), maps, column, row, *own_loaded), ...);
  }
  // Loads a stage, by the last thread that arrives.
  __device__ void load_stage(const Stage<Stages>& stage, int column, int row, const TileMap& from_first,
                             const TileMap& from_second) const {
    Barrier& full = stage.full[stage.number];
    full.expect(2 * Other::kBytes);
    load_tile(first(stage.number), from_first, column, row, full);
    load_tile(second(stage.number), from_second, column, row, full);
  }
  // Loads the stages of the rows that are seen, of a segment that begins with row `segment` of the batch, by one
  // thread.
  __device__ void load_stages(int column, int segment, Range seen, const TileMap& from_first,
                              const TileMap& from_second) const {
    Stage<Stages> stage = stages();
    for (int row = first_row(seen); row < seen.end; row += OtherRows, stage.next()) {
      stage.wait_until_empty();
      load_stage(stage, column, segment + row, from_first, from_second);
    }
  }
  // The first row of the first tile with a row that is seen.
  __device__ static int first_row(Range seen) { return seen.begin / OtherRows * OtherRows; }
};

// Sets the rows from `first` on to 0, by all consumers: they belong to a neighbor of the segment. consumer_barrier()
// must follow.
template <int Rows, int Width>
__device__ void clear_rows(const SwizzledTile<Rows, Width>& tile, int first) {
  constexpr int kPacks = Width / 8;
  for (int e = first * kPacks + int(threadIdx.x); e < Rows * kPacks; e += kConsumers)
    *reinterpret_cast<uint4*>(tile.at(e / kPacks, e % kPacks * 8)) = make_uint4(0, 0, 0, 0);
  fence_async();
}

// Adds the bias to scores. `bias`: that of the lane's first row and column 0; it is farther on by `sign` in the next
// column, and back in the next row.
template <int sign, int Chunks>
__device__ inline void add_bias(float (&scores)[Chunks][4], const float* bias) {
  for_each_element<Chunks>(8 * Chunks,
                           [&](int j, int c, int column) { scores[j][c] += bias[sign * (column - c / 2 * 8)]; });
}

// Sums in registers, rounded as left operands of products: to[k] has columns 16 k to 16 k + 15.
template <int Chunks>
__device__ inline void round_operands(uint32_t (&to)[Chunks / 2][4], const float (&sums)[Chunks][4]) {
#pragma unroll
  for (int k = 0; k < Chunks / 2; ++k) {
    for (int i = 0; i < 4; ++i)
      to[k][i] = pack_bf16(sums[2 * k + i / 2][i % 2 * 2], sums[2 * k + i / 2][i % 2 * 2 + 1]);
  }
}

// sums = the rows row .. row + 63 of a times all rows of b, transposed. Begins the products.
template <int Rows, int Width, int OtherRows>
__device__ inline void begin_scores(float (&sums)[OtherRows / 8][4], const SwizzledTile<Rows, Width>& a, int row,
                                    const SwizzledTile<OtherRows, Width>& b) {
#pragma unroll
  for (int k = 0; k < Width; k += 16) multiply(sums, a.k_major(row, k), b.k_major(0, k), k > 0);
}

// sums += weights times the rows of b. Begins the products.
template <int Rows, int Width>
__device__ inline void begin_weighted(float (&sums)[Width / 8][4], const uint32_t (&weights)[Rows / 16][4],
                                      const SwizzledTile<Rows, Width>& b) {
#pragma unroll
  for (int k = 0; k < Rows; k += 16) multiply(sums, weights[k / 16], b.mn_major(k), true);
}

// The largest distance of keys that are seen (Visibility).
inline int seen_distance(const AttentionCall& call) {
  return int(std::min<int64_t>(call.shape.window, PositionTableRows<float>::kUnlimited));
}

// The bias of attention by distance, divided by the scale of the scores: data[head * stride + distance], for all pairs
// of the tiles of a call. Null if there is none.
struct DistanceBias {
  const float* data = nullptr;
  int64_t stride = 0;

  explicit __device__ operator bool() const { return data; }
  __device__ const float* at(int head, int distance) const { return data + head * stride + distance; }
};
// The same with its memory, which must live until the kernels that use it are queued.
struct PaddedBias {
  Tensor memory;
  DistanceBias bias;
  PaddedBias(Context& context, const PositionTableRows<float>& tables, const AttentionCall& call, float scale);
};

// The panels of the heads of these rows, for tiles of `tile_rows` rows.
inline TileMap head_map(const Rows<bfloat16>& rows, int64_t count, int64_t columns, int width, int tile_rows) {
  return make_tile_map(rows.data, count, columns, rows.stride, std::min(width, 64), tile_rows);
}

}  // namespace gyre::cuda
