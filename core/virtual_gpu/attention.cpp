// Softmax attention: core/cuda/attention.
#include <algorithm>
#include <utility>

#include "gyre/core/kernels/gpu_blocks.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre::virtual_gpu {

namespace {

constexpr int64_t kUnitWidth = 64;  // features of a head, for which the costs per product of tiles are given

struct Call : AttentionCall {
  int64_t width;
  DType dtype;
  // `out`: the output, or its gradient.
  Call(const AttentionCall& call, const Tensor& out)
      : AttentionCall(call), width(out.cols() / shape.heads), dtype(out.dtype()) {}

  bool runs_on_tensor_cores() const {
    const bool rotates_packs = !angles || rotates_whole_packs(rope);
    return dtype == DType::bf16 && has_tensor_width(width) && !terms && rotates_packs && shape.window >= longest() - 1;
  }
};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Work of segments of more than one tile. tiles: blocks over queries; key_tiles: blocks over keys; pairs: pairs of a
// tile of queries and a tile of keys in which some key is visible.
struct LongTiles {
  int64_t tiles = 0, key_tiles = 0, pairs = 0;

  void add(int64_t queries, int64_t keys, bool causal) {
    tiles += divide_up(queries, kTileRows);
    key_tiles += divide_up(keys, kTileRows);
    for (int64_t begin = 0; begin < queries; begin += kTileRows) {
      const int64_t last = std::min(queries, begin + kTileRows);  // the last query of the tile sees most keys
      const int64_t seen = causal ? std::clamp<int64_t>(last + keys - queries, 0, keys) : keys;
      pairs += divide_up(seen, kTileRows);
    }
  }
};

// Work of segments that fit into one tile. A warp has a strip of kStripRows rows, and each block the strips of one or
// more segments. pairs: as in LongTiles, counted in parts of tiles.
struct PackedTiles {
  double pairs = 0;

  void add(int64_t queries, int64_t keys) {
    const int64_t strips = divide_up(std::max(queries, keys), kStripRows);
    ++waiting_[size_t(strips)];
    pairs += double(divide_up(queries, kStripRows) * divide_up(keys, kStripRows)) / double(kStrips * kStrips);
  }
  int64_t blocks() const {
    int64_t blocks = 0;
    pack_segments(
        waiting_, [](int) {}, [&](int) { ++blocks; });
    return blocks;
  }

 private:
  static constexpr int64_t kStrips = kWarpsOfBlock;
  WaitingSegments waiting_{};
};

struct AllTiles {
  PackedTiles packed;
  LongTiles others;
  explicit AllTiles(const Call& call) {
    for (int s = 0; s < call.queries.count(); ++s) {
      const int64_t queries = call.queries.length(s), keys = call.keys.length(s);
      if (queries <= kTileRows && keys <= kTileRows) {
        packed.add(queries, keys);
      } else {
        others.add(queries, keys, call.shape.causal);
      }
    }
  }
  double pairs() const { return packed.pairs + double(others.pairs); }
  double packed_share() const { return pairs() > 0 ? packed.pairs / pairs() : 0; }
};

// A kernel with `blocks` blocks per head that computes `products` products of two tiles per head.
void report_tiles(std::string_view name, const Call& call, int64_t blocks, double products, int resident_blocks,
                  double bytes, double draws) {
  if (blocks == 0) return;
  const double heads = call.shape.heads;
  report({.name = name,
          .kind = GpuWork::Kind::attention,
          .bytes = bytes,
          .random_numbers = draws,
          .precision = Precision::bf16,
          .blocks = double(blocks) * heads,
          .resident_blocks = double(resident_blocks),
          .tile_products = products * heads * double(call.width) / double(kUnitWidth)});
}

// Products of single pairs without tensor cores, two FLOPs per feature.
void report_plain(std::string_view name, const Call& call, int launches, double products, double bytes) {
  double pairs = 0;
  for (int s = 0; s < call.queries.count(); ++s) pairs += double(call.queries.length(s)) * double(call.keys.length(s));
  if (pairs == 0) return;
  report({.name = name,
          .kind = GpuWork::Kind::arithmetic,
          .launches = launches,
          .bytes = bytes,
          .flops = 2 * products * pairs * double(call.shape.heads * call.width)});
}

// Weights are drawn for whole tiles.
double drawn(const Call& call, double pairs) {
  if (call.shape.dropout.rate == 0) return 0;
  return pairs * double(call.shape.heads) * double(kTileRows * kTileRows);
}

// Long segments read rotated copies of queries and keys, which live as long as the call.
std::vector<Tensor> rotated_copies(const Call& call) {
  std::vector<Tensor> copies;
  if (!call.runs_on_tensor_cores() || !rotates_first(call)) return copies;
  for (const auto& [rows, heads] :
       {std::pair(call.q.rows, call.shape.heads), std::pair(call.k.rows, call.shape.key_heads())}) {
    copies.push_back(temporary({rows.rows(), heads * call.width}, call.dtype));
    report_pass("rotation", {copies.back(), copies.back()});
  }
  return copies;
}

int64_t term_gradients(const PositionTables& d) {
  const Tensor* const tables[] = {&d.query_table, &d.key_table, &d.value_table, &d.bias};
  int64_t launches = d.has_distances() ? 1 : 0;
  for (const Tensor* table : tables) launches += table->defined();
  return launches + 2 * (int64_t(d.pos_queries.defined()) + int64_t(d.pos_keys.defined()));
}

}  // namespace

void VirtualKernels::attention(const Tensor& out, const Tensor& lse, const AttentionCall& attention) {
  const Call call(attention, out);
  const auto element = double(dtype_bytes(call.dtype));
  const double columns = double(2 * call.queries.tokens()) + double(2 * call.keys.tokens()) / call.shape.group();
  const double bytes = columns * double(out.cols()) * element + bytes_of({lse});
  if (!call.runs_on_tensor_cores()) return report_plain("attention without tensor cores", call, 1, 2, bytes);
  const std::vector<Tensor> rotated = rotated_copies(call);
  const AllTiles all(call);
  const double share = all.packed_share();
  report_tiles("attention", call, all.packed.blocks(), 2 * all.packed.pairs, packed_forward_blocks(call.width),
               share * bytes, drawn(call, all.packed.pairs));
  report_tiles("attention of long segments", call, all.others.tiles, 2 * double(all.others.pairs),
               long_forward_blocks(call.width), (1 - share) * bytes, drawn(call, double(all.others.pairs)));
}

void VirtualKernels::attention_backward(const AttentionGradients& gradients, const Tensor& dout, const Tensor& /*out*/,
                                        const Tensor& lse, const AttentionCall& attention) {
  const Call call(attention, dout);
  const HeadColumns &dk = gradients.k, &dv = gradients.v;
  const Tensor& dfrequencies = gradients.frequencies;
  const int64_t d = dout.cols();
  const DType exact = statistics_dtype(dout.dtype());
  const Tensor sums = temporary({call.shape.heads, dout.rows()}, exact);
  const Tensor exact_dq = dfrequencies ? temporary({call.q.rows.rows(), d}, exact) : Tensor();
  const bool grouped = call.shape.group() > 1;
  const Tensor exact_dk = dfrequencies || (grouped && dk.rows) ? temporary({call.k.rows.rows(), d}, exact) : Tensor();
  const Tensor exact_dv = grouped && dv.rows ? temporary({call.k.rows.rows(), d}, exact) : Tensor();
  const double row_bytes = double(d) * double(dtype_bytes(call.dtype)), nq = call.queries.tokens(),
               nk = call.keys.tokens();
  const bool key_side = dk.rows || dv.rows;
  const std::vector<Tensor> rotated = rotated_copies(call);
  if (call.runs_on_tensor_cores()) {
    const AllTiles all(call);
    // Each kernel reads q, dout, k and v. Those of long segments also read the statistics, and the first one out.
    const double share = all.packed_share();
    const auto pairs = double(all.others.pairs);
    constexpr double kOfQueries = 3, kOfKeys = 4;  // products per pair of tiles
    report_tiles("attention gradient", call, all.packed.blocks(), 5 * all.packed.pairs,
                 packed_backward_blocks(call.width), share * ((3 * nq + 4 * nk) * row_bytes + bytes_of({lse})),
                 drawn(call, all.packed.pairs));
    report_tiles("attention gradient of queries", call, all.others.tiles, kOfQueries * pairs,
                 backward_of_queries_blocks(call.width),
                 (1 - share) * ((4 * nq + 2 * nk) * row_bytes + bytes_of({lse, sums})), drawn(call, pairs));
    if (key_side)
      report_tiles("attention gradient of keys", call, all.others.key_tiles, kOfKeys * pairs,
                   backward_of_keys_blocks(call.width),
                   (1 - share) * ((2 * nq + 4 * nk) * row_bytes + bytes_of({lse, sums})), drawn(call, pairs));
  } else {
    report_plain("attention gradient without tensor cores", call, key_side ? 2 : 1, 7, (6 * nq + 6 * nk) * row_bytes);
    if (const int64_t launches = term_gradients(gradients.terms))
      report_plain("gradients of position terms", call, int(launches), 2, (2 * nq + 2 * nk) * row_bytes);
  }
  if (grouped && key_side)
    report({.name = "sums of groups of heads",
            .launches = int(dk.rows.defined()) + int(dv.rows.defined()),
            .bytes = bytes_of({exact_dk, exact_dv}) * (1 + 1.0 / call.shape.group())});
  if (dfrequencies) report({.name = "frequency gradient", .launches = 4, .bytes = bytes_of({exact_dq, exact_dk})});
}

void VirtualKernels::decode_attention(const Tensor& out, const std::vector<Tensor>& steps, const Tensor& /*ancestry*/,
                                      const AttentionShape& /*shape*/, const PositionTables& /*terms*/) {
  double bytes = bytes_of({out});
  for (const Tensor& step : steps) bytes += bytes_of({step});
  report({.name = "attention", .bytes = bytes});
}

// ---- Linear attention: core/cuda/linear_attention ------------------------------------------------------------------

// Each row of a segment updates and reads a matrix of features x width per head.
void VirtualKernels::linear_attention_scan(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                                           const Segments& segments, int heads, ScanDirection /*direction*/) {
  if (segments.tokens() == 0) return;
  const int64_t features = (q ? q.cols() : k ? k.cols() : heads) / heads, width = out.cols() / heads;
  report({.name = "scan",
          .kind = GpuWork::Kind::arithmetic,
          .bytes = bytes_of({out, q, k, v}),
          .flops = 4 * double(segments.tokens()) * double(heads) * double(features) * double(width)});
}

void VirtualKernels::favor_features(const Tensor& y, const Tensor& p, const Tensor& x, int /*heads*/,
                                    double /*factor*/) {
  report_pass("random features", {y, p, x});
}

void VirtualKernels::favor_features_backward(const Tensor& dp, const Tensor& dx, const Tensor& dy, const Tensor& p,
                                             const Tensor& x, int /*heads*/, double /*factor*/) {
  report_pass("random features gradient", {dp, dx, dy, p, x});
}

}  // namespace gyre::virtual_gpu
