// Scaled dot-product attention over packed segments, forward. Over the visible keys j of query i:
//   s_ij = scale q_i . k_j, plus relative-position terms (position_terms.h)
//   lse_i = log sum_j exp(s_ij);  p_ij = exp(s_ij - lse_i);  out_i = sum_j p_ij v_j
#include "gyre/core/cpu/attention/attention_head.h"
#include "gyre/core/cpu/attention/attention_in_place.h"
#include "gyre/core/cpu/attention/factors.h"
#include "gyre/core/cpu/attention/position_terms.h"
#include "gyre/core/cpu/attention/softmax_lanes.h"
#include "gyre/core/cpu/cpu_kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class D>
struct Forward {
  using T = Compute<D>;
  Rows<D> out;
  T* lse;              // may be null
  int64_t query_rows;  // number of query rows in the batch
  Rows<D> q, k, v;
  T scale;
  WeightDropout dropout;
  RowRotation<T> turned_queries, turned_keys;
  TermTables<T> terms;
};

template <class D>
struct ForwardTiles {
  using T = Compute<D>;
  using Element = T;
  Tile<T> k, v;             // (keys, width)
  Tile<T> q, out;           // (queries, width) of a block
  Tile<T> scores, dropout;  // (keys, queries)
  Tile<T> inverse;          // (chunks of queries, lanes): 1 / sum of the weights
  Factors<D> key_factors, value_factors, weight_factors;
  TransposedFactors<D> q_transposed;
  TermTiles<T> terms;

  ForwardTiles(TileMemory<T>& memory, const Head& longest, const TermTables<T>& tables)
      : k(memory.take(longest.keys, longest.width)),
        v(memory.take(longest.keys, longest.width)),
        q(memory.take(kQueryBlock<T>, longest.width)),
        out(memory.take(kQueryBlock<T>, longest.width)),
        scores(memory.take(longest.keys, kQueryBlock<T>)),
        dropout(memory.take(longest.keys, kQueryBlock<T>)),
        inverse(memory.take(2, kLanes<T>)),
        key_factors(Factors<D>::for_sums_over_columns(memory, longest.keys, longest.width)),
        value_factors(Factors<D>::for_sums_over_rows(memory, longest.keys, longest.width)),
        weight_factors(Factors<D>::for_sums_over_rows(memory, longest.keys, kQueryBlock<T>)),
        q_transposed(memory, longest.width),
        terms(memory, tables, longest) {}
};

// Turns scores into weights that are not normalized. Stores the reciprocals of their sums, and lse.
template <class D, class T>
void weigh(const Forward<D>& a, const Head& h, const QueryBlock<T>& block, const ForwardTiles<D>& t) {
  const int64_t row = h.index * a.query_rows + h.first_query + block.begin;
  for (int64_t chunk = 0; chunk * kLanes<T> < block.count; ++chunk) {
    const int64_t lane = chunk * kLanes<T>;
    const LaneSums<T> sums = softmax_lanes<T>(t.scores.vectors(chunk), block.keys_of(chunk), a.scale);
    t.inverse.vector(chunk, 0) = sums.inverse;
    for (int64_t i = 0; a.lse && i < std::min(kLanes<T>, block.count - lane); ++i) a.lse[row + lane + i] = sums.lse[i];
  }
  if (!a.dropout.active()) return;
  a.dropout.fill(t.dropout, h, block);
  for (int64_t chunk = 0; chunk * kLanes<T> < block.count; ++chunk)
    for (int64_t j = 0; j < block.keys; ++j) t.scores.vector(j, chunk) *= t.dropout.vector(j, chunk);
}

// The keys and values of a head, as they are multiplied.
template <class D>
struct KeyFactors {
  Tile<Packed<D>> keys, values;
};

template <class D, class T>
void forward_block(const Forward<D>& a, const Head& h, const QueryBlock<T>& block, const KeyFactors<D>& factors,
                   const ForwardTiles<D>& t, const HeadTerms<T>& terms) {
  const int64_t row = h.first_query + block.begin;
  a.turned_queries.pack(t.q, a.q, row, h.feature(), block.count, h.width);
  t.q_transposed.load(t.q, block.count, h.width, bool(terms.tables.query));
  multiply<false>(t.scores, rows_from(factors.keys, block.first), t.q_transposed.get(), block.keys, block.chunks(),
                  packed_elements<D>(h.width), false);
  terms.add_scores(t.scores, t.q_transposed.exact(), t.k, block);
  weigh(a, h, block, t);
  multiply<true>(t.out, t.weight_factors.over_rows(t.scores, block.keys, block.count),
                 summed_from<D>(factors.values, block.first), block.count, chunks_of<T>(h.width),
                 packed_elements<D>(block.keys), false);
  terms.add_values(t.out, t.scores, block);
  unpack_scaled(a.out.from(row, h.feature()), t.out, block.count, h.width, t.inverse.data);
}

// Up to this number of queries, as in decoding with cross-attention, most of a tile would be empty.
constexpr int64_t kFewQueries = 4;

template <class D>
void forward_in_place(const Forward<D>& a, const Head& h, const ForwardTiles<D>& t) {
  for (int64_t i = 0; i < h.queries; ++i) {
    const int64_t row = h.first_query + i, first = h.first_key + h.seen_from(i), seen = h.seen_to(i) - h.seen_from(i);
    const auto key = [&](int64_t j) { return a.k.at(first + j, h.key_feature()); };
    const auto value = [&](int64_t j) { return a.v.at(first + j, h.key_feature()); };
    const Compute<D> lse = attend_in_place<D>(a.out.at(row, h.feature()), a.q.at(row, h.feature()), h.width, seen,
                                              a.scale, key, value, {t.q.data, t.scores.data});
    if (a.lse) a.lse[h.index * a.query_rows + row] = lse;
  }
}

template <class D>
void forward_head(const Forward<D>& a, const Head& h, const ForwardTiles<D>& t) {
  using T = Compute<D>;
  const bool plain = !a.turned_keys.positions && !a.dropout.active() && !a.terms.any();
  if (h.queries <= kFewQueries && plain) return forward_in_place(a, h, t);
  const HeadTerms<T> terms(a.terms, t.terms, h, a.scale);
  terms.load();
  a.turned_keys.pack(t.k, a.k, h.first_key, h.key_feature(), h.keys, h.width);
  copy_rows<T>(t.v, a.v.from(h.first_key, h.key_feature()), h.keys, 0, h.width);
  const KeyFactors<D> factors{t.key_factors.over_columns(t.k, h.keys, h.width),
                              t.value_factors.over_rows(t.v, h.keys, h.width)};
  for_each_query_block<T>(h, [&](const QueryBlock<T>& block) { forward_block(a, h, block, factors, t, terms); });
}

}  // namespace

void CpuKernels::attention(const Tensor& out, const Tensor& lse, const HeadColumns& q, const HeadColumns& k,
                           const HeadColumns& v, const Segments& queries, const Segments& keys,
                           const AttentionShape& shape, const AttentionRotation& rotation,
                           const AttentionPositionTerms& terms) {
  dispatch_data_type(out, [&]<class D>(D) {
    using T = Compute<D>;
    const Forward<D> a{rows_of<D>({out}),
                       data_or_null<T>(lse),
                       out.rows(),
                       rows_of<D>(q),
                       rows_of<D>(k),
                       rows_of<D>(v),
                       T(shape.scale),
                       WeightDropout(shape.dropout, k.rows.rows(), queries.longest()),
                       RowRotation<T>(rotation, rotation.query_positions),
                       RowRotation<T>(rotation, rotation.key_positions),
                       TermTables<T>(terms, shape.heads)};
    for_each_head<ForwardTiles<D>>(
        queries, keys, out.cols() / shape.heads, shape, 1, a.terms,
        [&](const Head& h, const ForwardTiles<D>& tiles, int64_t) { forward_head(a, h, tiles); });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
