// Softmax attention: core/cuda/attention.
#include <algorithm>

#include "gyre/core/virtual_gpu/report.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre::virtual_gpu {
namespace {

// As in core/cuda/attention: rows of a tensor-core tile and the widths of heads that have such kernels. The costs per
// product of tiles are given for heads of kUnitWidth features.
constexpr int64_t kTileRows = 64, kUnitWidth = 64;

struct Call {
  const Segments &queries, &keys;
  const AttentionShape& shape;
  int64_t width;
  DType dtype;
  bool terms;

  int64_t longest() const { return std::max<int64_t>(queries.longest(), keys.longest()); }
  bool runs_on_tensor_cores() const {
    const bool tensor_width = width == 32 || width == 64 || width == 128;
    return dtype == DType::bf16 && tensor_width && !terms && shape.window >= longest() - 1;
  }
};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Work of the segments that fit into one tile, or of the others. tiles: blocks over queries; key_tiles: blocks over
// keys; pairs: pairs of a tile of queries and a tile of keys in which some key is visible.
struct Tiles {
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

struct AllTiles {
  Tiles fitting, others;
  explicit AllTiles(const Call& call) {
    for (int s = 0; s < call.queries.count(); ++s) {
      const int64_t queries = call.queries.length(s), keys = call.keys.length(s);
      const bool fits = queries <= kTileRows && keys <= kTileRows;
      (fits ? fitting : others).add(queries, keys, call.shape.causal);
    }
  }
};

// A kernel with `blocks` blocks per head that computes `products` products of two tiles per head.
void report_tiles(std::string_view name, const Call& call, int64_t blocks, int64_t products, double resident,
                  double bytes, double draws) {
  if (blocks == 0) return;
  const double heads = call.shape.heads;
  report({.name = name,
          .kind = GpuWork::Kind::attention,
          .bytes = bytes,
          .random_numbers = draws,
          .precision = Precision::bf16,
          .blocks = double(blocks) * heads,
          .resident_blocks = resident,
          .tile_products = double(products) * heads * double(call.width) / double(kUnitWidth)});
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
double drawn(const Call& call, int64_t pairs) {
  if (call.shape.dropout.rate == 0) return 0;
  return double(pairs) * double(call.shape.heads) * double(kTileRows * kTileRows);
}

int64_t term_gradients(const AttentionPositionTerms& d) {
  const Tensor* const tables[] = {&d.query_table, &d.key_table, &d.value_table, &d.bias};
  int64_t launches = d.has_distances() ? 1 : 0;
  for (const Tensor* table : tables) launches += table->defined();
  return launches + 2 * (int64_t(d.pos_queries.defined()) + int64_t(d.pos_keys.defined()));
}

}  // namespace

void VirtualKernels::attention(const Tensor& out, const Tensor& lse, const HeadColumns& q, const HeadColumns& /*k*/,
                               const HeadColumns& /*v*/, const Segments& queries, const Segments& keys,
                               const AttentionShape& shape, const AttentionRotation& /*rotation*/,
                               const AttentionPositionTerms& terms) {
  const Call call{queries, keys, shape, out.cols() / shape.heads, q.rows.dtype(), bool(terms)};
  const auto element = double(dtype_bytes(call.dtype));
  const double bytes =
      double(2 * queries.tokens() + 2 * keys.tokens()) * double(out.cols()) * element + bytes_of({lse});
  if (!call.runs_on_tensor_cores()) return report_plain("attention without tensor cores", call, 1, 2, bytes);
  const AllTiles all(call);
  const int64_t pairs = all.fitting.pairs + all.others.pairs;
  constexpr double kResident = 4;
  report_tiles("attention", call, all.fitting.tiles + all.others.tiles, 2 * pairs, kResident, bytes,
               drawn(call, pairs));
}

void VirtualKernels::attention_backward(const HeadColumns& dq, const HeadColumns& dk, const HeadColumns& dv,
                                        const Tensor& dfrequencies, const AttentionPositionTerms& dterms,
                                        const Tensor& dout, const HeadColumns& q, const HeadColumns& k,
                                        const HeadColumns& /*v*/, const Tensor& lse, const Segments& queries,
                                        const Segments& keys, const AttentionShape& shape,
                                        const AttentionRotation& /*rotation*/, const AttentionPositionTerms& terms) {
  const int64_t d = dout.cols();
  const Call call{queries, keys, shape, d / shape.heads, dout.dtype(), bool(terms)};
  const DType exact = statistics_dtype(dout.dtype());
  const Tensor sums = temporary({shape.heads, dout.rows()}, exact);
  const Tensor exact_dq = dfrequencies ? temporary({q.rows.rows(), d}, exact) : Tensor();
  const Tensor exact_dk = dfrequencies ? temporary({k.rows.rows(), d}, exact) : Tensor();
  const double row_bytes = double(d) * double(dtype_bytes(call.dtype)), nq = queries.tokens(), nk = keys.tokens();
  const bool key_side = dk.rows || dv.rows;
  if (call.runs_on_tensor_cores()) {
    const AllTiles all(call);
    // Of all rows, those of segments that fit into one tile. Each side reads q, dout, k and v; the first also reads
    // and writes the statistics.
    const double both = (3 * nq + 4 * nk) * row_bytes + bytes_of({lse});
    const double share = double(all.fitting.tiles) / double(std::max<int64_t>(1, all.fitting.tiles + all.others.tiles));
    constexpr double kResident = 3;
    const int64_t sweeps = dq.rows ? 5 : 2, of_keys = 4;  // products per pair of tiles
    report_tiles("attention gradient", call, all.fitting.tiles, 5 * all.fitting.pairs, kResident, share * both,
                 drawn(call, all.fitting.pairs));
    report_tiles("attention gradient of queries", call, all.others.tiles, sweeps * all.others.pairs, kResident,
                 (1 - share) * ((3 * nq + 2 * nk) * row_bytes + bytes_of({lse, sums})), drawn(call, all.others.pairs));
    if (key_side)
      report_tiles("attention gradient of keys", call, all.others.key_tiles, of_keys * all.others.pairs, kResident,
                   (1 - share) * ((2 * nq + 4 * nk) * row_bytes + bytes_of({lse, sums})),
                   drawn(call, all.others.pairs));
  } else {
    report_plain("attention gradient without tensor cores", call, key_side ? 2 : 1, 9, (5 * nq + 6 * nk) * row_bytes);
    if (const int64_t launches = term_gradients(dterms))
      report_plain("gradients of position terms", call, int(launches), 2, (2 * nq + 2 * nk) * row_bytes);
  }
  if (dfrequencies) report({.name = "frequency gradient", .launches = 2, .bytes = bytes_of({exact_dq, exact_dk})});
}

void VirtualKernels::decode_attention(const Tensor& out, const std::vector<Tensor>& steps, const Tensor& /*ancestry*/,
                                      const AttentionShape& /*shape*/, const AttentionPositionTerms& /*terms*/) {
  double bytes = bytes_of({out});
  for (const Tensor& step : steps) bytes += bytes_of({step});
  report({.name = "attention", .bytes = bytes});
}

}  // namespace gyre::virtual_gpu
