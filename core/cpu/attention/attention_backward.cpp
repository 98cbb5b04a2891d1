// Scaled dot-product attention over packed segments, backward. The weights are recomputed from the saved lse. With
// p_ij = exp(scale q_i . k_j - lse_i) and m_ij the dropout factor (1 without dropout):
//   dv_j = sum_i m_ij p_ij dout_i;  dp_ij = m_ij dout_i . v_j;  D_i = sum_j p_ij dp_ij
//   ds_ij = scale p_ij (dp_ij - D_i);  dq_i = sum_j ds_ij k_j;  dk_j = sum_i ds_ij q_i
// Gradients of the relative-position terms: position_terms_backward.h. With a rotation, q and k are the rotated ones:
// dq and dk are rotated back, after the gradient of the angles is computed from them.
#include <vector>

#include "gyre/core/cpu/attention/packed_operand.h"
#include "gyre/core/cpu/attention/position_terms_backward.h"
#include "gyre/core/cpu/attention/softmax_lanes.h"
#include "gyre/core/cpu/cpu_kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class D>
struct BackwardCall {
  using T = Compute<D>;
  Rows<D> dq, dk, dv;    // null where a gradient is not needed
  double* dfrequencies;  // (jobs, pairs); may be null
  Rows<D> dout, q, k, v;
  const T* lse;
  int64_t query_rows;  // number of query rows in the batch
  int64_t group;       // consecutive heads with the same keys and values
  T scale;
  WeightDropout dropout;
  RopeRows<T> turned_queries, turned_keys;
  PositionTableRows<T> terms;
  PositionGradients<T> term_gradients;
};

template <class D>
struct BackwardTiles {
  using T = Compute<D>;
  using Element = T;
  Tile<T> k, v, dk, dv;                // (keys, width)
  Tile<T> q, dout, dq;                 // (queries, width) of a block
  Tile<T> weights, dweights, dropout;  // (keys, queries)
  Tile<T> lse;                         // (chunks of queries, lanes)
  TransposedOperand<D> q_transposed, dout_transposed;
  PackedOperand<D> k_over_features, v_over_features, k_over_keys;
  PackedOperand<D> q_over_queries, dout_over_queries, weights_over_queries, dweights_over_queries, dweights_over_keys;
  PositionTiles<T> terms;
  PositionGradientTiles<T> term_gradients;

  BackwardTiles(TileMemory<T>& memory, const SegmentHead& longest, const PositionTableRows<T>& tables)
      : k(memory.take(longest.keys, longest.width)),
        v(memory.take(longest.keys, longest.width)),
        dk(memory.take(longest.keys, longest.width)),
        dv(memory.take(longest.keys, longest.width)),
        q(memory.take(kQueryBlock<T>, longest.width)),
        dout(memory.take(kQueryBlock<T>, longest.width)),
        dq(memory.take(kQueryBlock<T>, longest.width)),
        weights(memory.take(longest.keys, kQueryBlock<T>)),
        dweights(memory.take(longest.keys, kQueryBlock<T>)),
        dropout(memory.take(longest.keys, kQueryBlock<T>)),
        lse(memory.take(2, kLanes<T>)),
        q_transposed(memory, longest.width),
        dout_transposed(memory, longest.width),
        k_over_features(PackedOperand<D>::for_sums_over_columns(memory, longest.keys, longest.width)),
        v_over_features(PackedOperand<D>::for_sums_over_columns(memory, longest.keys, longest.width)),
        k_over_keys(PackedOperand<D>::for_sums_over_rows(memory, longest.keys, longest.width)),
        q_over_queries(PackedOperand<D>::for_sums_over_rows(memory, kQueryBlock<T>, longest.width)),
        dout_over_queries(PackedOperand<D>::for_sums_over_rows(memory, kQueryBlock<T>, longest.width)),
        weights_over_queries(PackedOperand<D>::for_sums_over_columns(memory, longest.keys, kQueryBlock<T>)),
        dweights_over_queries(PackedOperand<D>::for_sums_over_columns(memory, longest.keys, kQueryBlock<T>)),
        dweights_over_keys(PackedOperand<D>::for_sums_over_rows(memory, longest.keys, kQueryBlock<T>)),
        terms(memory, tables, longest),
        term_gradients(memory, tables, longest) {}
};

// Backward of one head of one segment (a job). The heads of a group run one after another in the same tiles: the first
// one loads their keys and values, all add to dk and dv, and the last one stores these.
template <class D>
struct HeadBackward {
  using T = Compute<D>;
  const BackwardCall<D>& call;
  const SegmentHead& head;
  const BackwardTiles<D>& tiles;
  int64_t job;
  double* dfrequencies;  // (pairs) of this job; may be null
  HeadPositionTerms<T> terms;
  HeadPositionGradients<T> term_gradients;

  HeadBackward(const BackwardCall<D>& call, const SegmentHead& head, const BackwardTiles<D>& tiles, int64_t job)
      : call(call),
        head(head),
        tiles(tiles),
        job(job),
        dfrequencies(call.dfrequencies ? call.dfrequencies + job * (call.turned_queries.shape().dims / 2) : nullptr),
        terms(call.terms, tiles.terms, head, call.scale),
        term_gradients{terms, call.term_gradients, tiles.term_gradients} {}

  bool first_of_group() const { return head.index % call.group == 0; }
  bool last_of_group() const { return (head.index + 1) % call.group == 0; }

  void add_angle_gradients(const RopeRows<T>& rope, Tile<T> dy, Tile<T> y, int64_t first_row, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t pair = 0; pair < rope.shape().dims / 2; ++pair) {
        const int64_t first = rope.shape().first_of_pair(pair), second = rope.shape().partner(first);
        dfrequencies[pair] +=
            double(rope.position(first_row + i)) *
            angle_gradient(dy.element(i, first), dy.element(i, second), y.element(i, first), y.element(i, second));
      }
    }
  }

  void load_block(const QueryBlock<T>& block) const {
    const int64_t row = head.first_query + block.begin;
    call.turned_queries.pack(tiles.q, call.q, row, head.feature(), block.count, head.width);
    copy_rows<T>(tiles.dout, call.dout.block(row, head.feature()), block.count, 0, head.width);
    tiles.q_transposed.load(tiles.q, block.count, head.width, bool(call.terms.query));
    tiles.dout_transposed.load(tiles.dout, block.count, head.width, bool(call.terms.value));
    const T* lse = call.lse + head.index * call.query_rows + row;
    for (int64_t i = 0; i < block.count; ++i) tiles.lse.data[i] = lse[i];
  }

  void weigh(const QueryBlock<T>& block) const {
    if (call.dropout.active()) call.dropout.fill(tiles.dropout, head, block);
    for (int64_t chunk = 0; chunk < block.chunks(); ++chunk) {
      softmax_lanes_backward<T>(tiles.weights.vectors(chunk), tiles.dweights.vectors(chunk),
                                call.dropout.active() ? tiles.dropout.vectors(chunk) : nullptr, block.keys_of(chunk),
                                call.scale, tiles.lse.vector(chunk, 0));
    }
  }

  // Computes the unscaled scores (into `weights`) and the gradients of the weights (into `dweights`).
  void score(const QueryBlock<T>& block) const {
    const Tile<Packed<D>> k = rows_from(tiles.k_over_features.packed(tiles.k), block.first),
                          v = rows_from(tiles.v_over_features.packed(tiles.v), block.first);
    const int64_t summed = packed_elements<D>(head.width);
    multiply<false>(tiles.weights, k, tiles.q_transposed.get(), block.keys, block.chunks(), summed, false);
    multiply<false>(tiles.dweights, v, tiles.dout_transposed.get(), block.keys, block.chunks(), summed, false);
    terms.add_scores(tiles.weights, tiles.q_transposed.exact(), tiles.k, block);
    terms.add_value_scores(tiles.dweights, tiles.dout_transposed.exact(), block);
  }

  // Adds to dk and dv, or writes them.
  void add_to_keys(const QueryBlock<T>& block, bool add) const {
    const int64_t features = chunks_of<T>(head.width), n = block.count, keys = block.keys,
                  summed = packed_elements<D>(n);
    multiply<false>(rows_from(tiles.dv, block.first),
                    tiles.weights_over_queries.pack_for_column_sums(tiles.weights, keys, n),
                    tiles.dout_over_queries.pack_for_row_sums(tiles.dout, n, head.width), keys, features, summed, add);
    multiply<false>(rows_from(tiles.dk, block.first),
                    tiles.dweights_over_queries.pack_for_column_sums(tiles.dweights, keys, n),
                    tiles.q_over_queries.pack_for_row_sums(tiles.q, n, head.width), keys, features, summed, add);
    if (!add) clear_keys_around(block);
  }

  void run_block(const QueryBlock<T>& block) const {
    const int64_t n = block.count, keys = block.keys;
    load_block(block);
    score(block);
    weigh(block);
    add_to_keys(block, block.begin > 0 || !first_of_group());  // the first block writes dk and dv, later blocks add
    multiply<true>(tiles.dq, tiles.dweights_over_keys.pack_for_row_sums(tiles.dweights, keys, n),
                   summed_from<D>(tiles.k_over_keys.packed(tiles.k), block.first), n, chunks_of<T>(head.width),
                   packed_elements<D>(keys), false);
    term_gradients.add({block, tiles.dweights, tiles.weights, tiles.q, tiles.dout, tiles.dq, tiles.k, tiles.dk});
    store_queries(block);
  }

  void clear_keys(int64_t begin, int64_t end) const {
    for (int64_t chunk = 0; chunk < chunks_of<T>(head.width); ++chunk)
      for (const Tile<T>& tile : {tiles.dk, tiles.dv})
        std::fill_n(tile.at(begin, chunk), (end - begin) * kLanes<T>, T(0));
  }
  void clear_keys_around(const QueryBlock<T>& block) const {
    clear_keys(0, block.first);
    clear_keys(block.first + block.keys, head.keys);
  }

  void store_queries(const QueryBlock<T>& block) const {
    const int64_t row = head.first_query + block.begin;
    if (dfrequencies) add_angle_gradients(call.turned_queries, tiles.dq, tiles.q, row, block.count);
    if (call.dq) call.turned_queries.unpack(call.dq, row, head.feature(), tiles.dq, block.count, head.width);
  }

  void store_keys() const {
    if (dfrequencies) add_angle_gradients(call.turned_keys, tiles.dk, tiles.k, head.first_key, head.keys);
    if (call.dk) call.turned_keys.unpack(call.dk, head.first_key, head.key_feature(), tiles.dk, head.keys, head.width);
    if (call.dv) copy_rows<T>(call.dv.block(head.first_key, head.key_feature()), tiles.dv, head.keys, 0, head.width);
  }

  void load_keys() const {
    call.turned_keys.pack(tiles.k, call.k, head.first_key, head.key_feature(), head.keys, head.width);
    copy_rows<T>(tiles.v, call.v.block(head.first_key, head.key_feature()), head.keys, 0, head.width);
    tiles.k_over_features.pack_for_column_sums(tiles.k, head.keys, head.width);
    tiles.v_over_features.pack_for_column_sums(tiles.v, head.keys, head.width);
    tiles.k_over_keys.pack_for_row_sums(tiles.k, head.keys, head.width);
    if (head.queries == 0) clear_keys(0, head.keys);
  }

  void run() const {
    if (first_of_group()) load_keys();
    terms.load();
    term_gradients.clear();
    for_each_query_block<T>(head, [&](const QueryBlock<T>& block) { run_block(block); });
    if (last_of_group()) store_keys();
    term_gradients.store(job);
  }
};

}  // namespace

void CpuKernels::attention_backward(const AttentionGradients& gradients, const Tensor& dout, const Tensor& /*out*/,
                                    const Tensor& lse, const AttentionCall& call) {
  dispatch_data_type(dout, [&]<class D>(D) {
    using T = Compute<D>;
    const Tensor& dfrequencies = gradients.frequencies;
    const int64_t heads = call.shape.heads, pairs = call.rope.dims / 2, width = dout.cols() / heads;
    const PositionTableRows<T> tables(call.terms, heads);
    std::vector<double> angle_gradients(dfrequencies ? size_t(call.queries.count() * heads * pairs) : 0);
    const BackwardCall<D> backward{rows_of<D>(gradients.q),
                                   rows_of<D>(gradients.k),
                                   rows_of<D>(gradients.v),
                                   dfrequencies ? angle_gradients.data() : nullptr,
                                   rows_of<D>({dout}),
                                   rows_of<D>(call.q),
                                   rows_of<D>(call.k),
                                   rows_of<D>(call.v),
                                   lse.data<T>(),
                                   dout.rows(),
                                   call.shape.group(),
                                   T(call.shape.scale),
                                   WeightDropout(call),
                                   RopeRows<T>(call.rope, call.angles, call.query_positions),
                                   RopeRows<T>(call.rope, call.angles, call.key_positions),
                                   tables,
                                   PositionGradients<T>(gradients.terms, tables, call, width)};
    for_each_head<BackwardTiles<D>>(call, width, backward.group, tables,
                                    [&](const SegmentHead& head, const BackwardTiles<D>& tiles, int64_t job) {
                                      HeadBackward<D>(backward, head, tiles, job).run();
                                    });
    backward.term_gradients.reduce();
    for (int64_t pair = 0; pair < (dfrequencies ? pairs : 0); ++pair) {
      double sum = 0;
      for (size_t i = size_t(pair); i < angle_gradients.size(); i += size_t(pairs)) sum += angle_gradients[i];
      dfrequencies.data<T>()[pair] += T(call.rope.position_scale * sum);
    }
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
