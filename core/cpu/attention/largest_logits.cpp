// The largest logits of attention. The memory for blocks of queries and keys does not grow with the segments.
#include "gyre/core/cpu/attention/attention_head.h"
#include "gyre/core/cpu/cpu_kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

constexpr int64_t kKeyBlock = 128;

template <class D>
struct Logits {
  using T = Compute<D>;
  Rows<D> q, k;
  RowRotation<T> rotated_queries, rotated_keys;
};

template <class T>
struct LogitTiles {
  using Element = T;
  Tile<T> k;                // (keys of a block, width)
  Tile<T> q, q_transposed;  // (queries of a block, width), and the transpose
  Tile<T> products;         // (keys, queries)

  LogitTiles(TileMemory<T>& memory, const Head& longest, int64_t key_block)
      : k(memory.take(key_block, longest.width)),
        q(memory.take(kQueryBlock<T>, longest.width)),
        q_transposed(memory.take(round_up(longest.width, kLanes<T>), kQueryBlock<T>)),
        products(memory.take(key_block, kQueryBlock<T>)) {}
};

// The visible ones among the keys first .. first + count - 1, numbered from 0, for a chunk of queries.
template <class T>
VisibleKeys<T> visible_among(const QueryBlock<T>& block, int64_t chunk, int64_t first, int64_t count) {
  VisibleKeys<T> visible = block.keys_of(chunk);
  const int64_t shift = first - block.first;
  visible.keys = count;
  visible.all_from = std::max<int64_t>(0, visible.all_from - shift);
  visible.all_to -= shift;
  visible.low -= shift;
  visible.edge -= shift;
  return visible;
}

// The largest of the products(keys, queries) of visible pairs; -infinity if there is none.
template <class T>
T largest_visible(const QueryBlock<T>& block, int64_t first, int64_t count, const Tile<T>& products) {
  using V = typename VectorOf<T>::type;
  const V nothing = V{} - std::numeric_limits<T>::infinity();
  T largest = -std::numeric_limits<T>::infinity();
  for (int64_t chunk = 0; chunk < block.chunks(); ++chunk) {
    const VisibleKeys<T> keys = visible_among(block, chunk, first, count);
    const V* rows = products.vectors(chunk);
    V of_lanes = nothing;
    const auto see = [&](V x) { of_lanes = x > of_lanes ? x : of_lanes; };
    keys.for_each([&](int64_t j) { see(rows[j]); }, [&](int64_t j) { see(keys.lanes(j) ? rows[j] : nothing); });
    const int64_t queries = std::min(kLanes<T>, block.count - chunk * kLanes<T>);
    for (int64_t i = 0; i < queries; ++i) largest = std::max<T>(largest, of_lanes[i]);
  }
  return largest;
}

// The largest product of a head of a segment.
template <class D, class T>
T largest_of_head(const Logits<D>& a, const Head& h, const LogitTiles<T>& t) {
  T largest = -std::numeric_limits<T>::infinity();
  for (int64_t first = 0; first < h.keys; first += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, h.keys - first);
    a.rotated_keys.pack(t.k, a.k, h.first_key + first, h.key_feature(), count, h.width);
    for_each_query_block<T>(h, [&](const QueryBlock<T>& block) {
      if (h.seen_to(block.begin + block.count - 1) <= first || h.seen_from(block.begin) >= first + count) return;
      a.rotated_queries.pack(t.q, a.q, h.first_query + block.begin, h.feature(), block.count, h.width);
      transpose_tile(t.q_transposed, t.q, block.count, h.width);
      multiply<false>(t.products, t.k, t.q_transposed, count, block.chunks(), h.width, false);
      largest = std::max(largest, largest_visible(block, first, count, t.products));
    });
  }
  return largest;
}

}  // namespace

void CpuKernels::largest_logits(const Tensor& largest, const HeadColumns& q, const HeadColumns& k,
                                const Segments& queries, const Segments& keys, const AttentionShape& shape,
                                int64_t width, const AttentionRotation& rotation) {
  const int64_t heads = shape.heads;
  const Tensor of_segments = Tensor::empty({queries.count(), heads}, DType::f64);
  double *const found = of_segments.data<double>(), *const to = largest.data<double>();
  dispatch_data_type(q.rows, [&]<class D>(D) {
    using T = Compute<D>;
    const Logits<D> a{rows_of<D>(q), rows_of<D>(k), RowRotation<T>(rotation, rotation.query_positions),
                      RowRotation<T>(rotation, rotation.key_positions)};
    for_each_head<LogitTiles<T>>(queries, keys, width, shape, 1, kKeyBlock,
                                 [&](const Head& h, const LogitTiles<T>& tiles, int64_t job) {
                                   found[job] = shape.scale * double(largest_of_head(a, h, tiles));
                                 });
  });
  for (int64_t i = 0; i < of_segments.size(); ++i) to[i % heads] = std::max(to[i % heads], found[i]);
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
