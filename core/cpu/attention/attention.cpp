// Scaled dot-product attention over packed segments, forward. Over the visible keys j of query i:
//   s_ij = scale q_i . k_j, plus relative-position terms (position_terms.h)
//   lse_i = log sum_j exp(s_ij);  p_ij = exp(s_ij - lse_i);  out_i = sum_j p_ij v_j
#include "gyre/core/cpu/attention/attention_head.h"
#include "gyre/core/cpu/attention/attention_in_place.h"
#include "gyre/core/cpu/attention/packed_operand.h"
#include "gyre/core/cpu/attention/position_terms.h"
#include "gyre/core/cpu/attention/softmax_lanes.h"
#include "gyre/core/cpu/cpu_kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class D>
struct ForwardCall {
  using T = Compute<D>;
  Rows<D> out;
  T* lse;              // may be null
  int64_t query_rows;  // number of query rows in the batch
  Rows<D> q, k, v;
  T scale;
  WeightDropout dropout;
  RopeRows<T> turned_queries, turned_keys;
  PositionTableRows<T> terms;
};

template <class D>
struct ForwardTiles {
  using T = Compute<D>;
  using Element = T;
  Tile<T> k, v;             // (keys, width)
  Tile<T> q, out;           // (queries, width) of a block
  Tile<T> scores, dropout;  // (keys, queries)
  Tile<T> inverse;          // (chunks of queries, lanes): 1 / sum of the weights
  PackedOperand<D> key_operand, value_operand, weight_operand;
  TransposedOperand<D> q_transposed;
  PositionTiles<T> terms;

  ForwardTiles(TileMemory<T>& memory, const SegmentHead& longest, const PositionTableRows<T>& tables)
      : k(memory.take(longest.keys, longest.width)),
        v(memory.take(longest.keys, longest.width)),
        q(memory.take(kQueryBlock<T>, longest.width)),
        out(memory.take(kQueryBlock<T>, longest.width)),
        scores(memory.take(longest.keys, kQueryBlock<T>)),
        dropout(memory.take(longest.keys, kQueryBlock<T>)),
        inverse(memory.take(2, kLanes<T>)),
        key_operand(PackedOperand<D>::for_sums_over_columns(memory, longest.keys, longest.width)),
        value_operand(PackedOperand<D>::for_sums_over_rows(memory, longest.keys, longest.width)),
        weight_operand(PackedOperand<D>::for_sums_over_rows(memory, longest.keys, kQueryBlock<T>)),
        q_transposed(memory, longest.width),
        terms(memory, tables, longest) {}
};

// Turns scores into weights that are not normalized. Stores the reciprocals of their sums, and lse.
template <class D, class T>
void weigh(const ForwardCall<D>& call, const SegmentHead& head, const QueryBlock<T>& block,
           const ForwardTiles<D>& tiles) {
  const int64_t row = head.index * call.query_rows + head.first_query + block.begin;
  for (int64_t chunk = 0; chunk * kLanes<T> < block.count; ++chunk) {
    const int64_t lane = chunk * kLanes<T>;
    const LaneSums<T> sums = softmax_lanes<T>(tiles.scores.vectors(chunk), block.keys_of(chunk), call.scale);
    tiles.inverse.vector(chunk, 0) = sums.inverse;
    for (int64_t i = 0; call.lse && i < std::min(kLanes<T>, block.count - lane); ++i)
      call.lse[row + lane + i] = sums.lse[i];
  }
  if (!call.dropout.active()) return;
  call.dropout.fill(tiles.dropout, head, block);
  for (int64_t chunk = 0; chunk * kLanes<T> < block.count; ++chunk)
    for (int64_t j = 0; j < block.keys; ++j) tiles.scores.vector(j, chunk) *= tiles.dropout.vector(j, chunk);
}

// The keys and values of a head, as they are multiplied.
template <class D>
struct KeyOperands {
  Tile<Packed<D>> keys, values;
};

template <class D, class T>
void forward_block(const ForwardCall<D>& call, const SegmentHead& head, const QueryBlock<T>& block,
                   const KeyOperands<D>& operands, const ForwardTiles<D>& tiles, const HeadPositionTerms<T>& terms) {
  const int64_t row = head.first_query + block.begin;
  call.turned_queries.pack(tiles.q, call.q, row, head.feature(), block.count, head.width);
  tiles.q_transposed.load(tiles.q, block.count, head.width, bool(terms.tables.query));
  multiply<false>(tiles.scores, rows_from(operands.keys, block.first), tiles.q_transposed.get(), block.keys,
                  block.chunks(), packed_elements<D>(head.width), false);
  terms.add_scores(tiles.scores, tiles.q_transposed.exact(), tiles.k, block);
  weigh(call, head, block, tiles);
  multiply<true>(tiles.out, tiles.weight_operand.pack_for_row_sums(tiles.scores, block.keys, block.count),
                 summed_from<D>(operands.values, block.first), block.count, chunks_of<T>(head.width),
                 packed_elements<D>(block.keys), false);
  terms.add_values(tiles.out, tiles.scores, block);
  unpack_scaled(call.out.block(row, head.feature()), tiles.out, block.count, head.width, tiles.inverse.data);
}

// Up to this number of queries, as in decoding with cross-attention, most of a tile would be empty.
constexpr int64_t kFewQueries = 4;

template <class D>
void forward_in_place(const ForwardCall<D>& call, const SegmentHead& head, const ForwardTiles<D>& tiles) {
  for (int64_t i = 0; i < head.queries; ++i) {
    const int64_t row = head.first_query + i, first = head.first_key + head.seen_from(i),
                  seen = head.seen_to(i) - head.seen_from(i);
    const auto key = [&](int64_t j) { return call.k.at(first + j, head.key_feature()); };
    const auto value = [&](int64_t j) { return call.v.at(first + j, head.key_feature()); };
    const Compute<D> lse =
        attend_in_place<D>(call.out.at(row, head.feature()), call.q.at(row, head.feature()), head.width, seen,
                           call.scale, key, value, {tiles.q.data, tiles.scores.data});
    if (call.lse) call.lse[head.index * call.query_rows + row] = lse;
  }
}

template <class D>
void forward_head(const ForwardCall<D>& call, const SegmentHead& head, const ForwardTiles<D>& tiles) {
  using T = Compute<D>;
  const bool plain = !call.turned_keys.rotates() && !call.dropout.active() && !call.terms.any();
  if (head.queries <= kFewQueries && plain) return forward_in_place(call, head, tiles);
  const HeadPositionTerms<T> terms(call.terms, tiles.terms, head, call.scale);
  terms.load();
  call.turned_keys.pack(tiles.k, call.k, head.first_key, head.key_feature(), head.keys, head.width);
  copy_rows<T>(tiles.v, call.v.block(head.first_key, head.key_feature()), head.keys, 0, head.width);
  const KeyOperands<D> operands{tiles.key_operand.pack_for_column_sums(tiles.k, head.keys, head.width),
                                tiles.value_operand.pack_for_row_sums(tiles.v, head.keys, head.width)};
  for_each_query_block<T>(
      head, [&](const QueryBlock<T>& block) { forward_block(call, head, block, operands, tiles, terms); });
}

}  // namespace

void CpuKernels::attention(const Tensor& out, const Tensor& lse, const AttentionCall& call) {
  dispatch_data_type(out, [&]<class D>(D) {
    using T = Compute<D>;
    const ForwardCall<D> forward{rows_of<D>({out}),
                                 data_or_null<T>(lse),
                                 out.rows(),
                                 rows_of<D>(call.q),
                                 rows_of<D>(call.k),
                                 rows_of<D>(call.v),
                                 T(call.shape.scale),
                                 WeightDropout(call),
                                 RopeRows<T>(call.rope, call.angles, call.query_positions),
                                 RopeRows<T>(call.rope, call.angles, call.key_positions),
                                 PositionTableRows<T>(call.terms, call.shape.heads)};
    for_each_head<ForwardTiles<D>>(
        call, out.cols() / call.shape.heads, 1, forward.terms,
        [&](const SegmentHead& head, const ForwardTiles<D>& tiles, int64_t) { forward_head(forward, head, tiles); });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
