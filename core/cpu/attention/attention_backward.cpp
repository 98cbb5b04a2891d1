// Scaled dot-product attention over packed segments, backward. The weights are recomputed from the saved lse. With
// p_ij = exp(scale q_i . k_j - lse_i) and m_ij the dropout factor (1 without dropout):
//   dv_j = sum_i m_ij p_ij dout_i;  dp_ij = m_ij dout_i . v_j;  D_i = sum_j p_ij dp_ij
//   ds_ij = scale p_ij (dp_ij - D_i);  dq_i = sum_j ds_ij k_j;  dk_j = sum_i ds_ij q_i
// Gradients of the relative-position terms: position_terms_backward.h. With a rotation, q and k are the rotated ones:
// dq and dk are rotated back, after the gradient of the angles is computed from them.
#include <vector>

#include "gyre/core/cpu/attention/factors.h"
#include "gyre/core/cpu/attention/position_terms_backward.h"
#include "gyre/core/cpu/attention/softmax_lanes.h"
#include "gyre/core/cpu/cpu_kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class D>
struct BackwardPass {
  using T = Compute<D>;
  Rows<D> dq, dk, dv;    // null where a gradient is not needed
  double* dfrequencies;  // (jobs, pairs); may be null
  Rows<D> dout, q, k, v;
  const T* lse;
  int64_t query_rows;  // number of query rows in the batch
  int64_t group;       // consecutive heads with the same keys and values
  T scale;
  WeightDropout dropout;
  RowRotation<T> turned_queries, turned_keys;
  TermTables<T> terms;
  TermGradients<T> term_gradients;
};

template <class D>
struct BackwardTiles {
  using T = Compute<D>;
  using Element = T;
  Tile<T> k, v, dk, dv;                // (keys, width)
  Tile<T> q, dout, dq;                 // (queries, width) of a block
  Tile<T> weights, dweights, dropout;  // (keys, queries)
  Tile<T> lse;                         // (chunks of queries, lanes)
  TransposedFactors<D> q_transposed, dout_transposed;
  Factors<D> k_over_features, v_over_features, k_over_keys;
  Factors<D> q_over_queries, dout_over_queries, weights_over_queries, dweights_over_queries, dweights_over_keys;
  TermTiles<T> terms;
  TermGradientTiles<T> term_gradients;

  BackwardTiles(TileMemory<T>& memory, const Head& longest, const TermTables<T>& tables)
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
        k_over_features(Factors<D>::for_sums_over_columns(memory, longest.keys, longest.width)),
        v_over_features(Factors<D>::for_sums_over_columns(memory, longest.keys, longest.width)),
        k_over_keys(Factors<D>::for_sums_over_rows(memory, longest.keys, longest.width)),
        q_over_queries(Factors<D>::for_sums_over_rows(memory, kQueryBlock<T>, longest.width)),
        dout_over_queries(Factors<D>::for_sums_over_rows(memory, kQueryBlock<T>, longest.width)),
        weights_over_queries(Factors<D>::for_sums_over_columns(memory, longest.keys, kQueryBlock<T>)),
        dweights_over_queries(Factors<D>::for_sums_over_columns(memory, longest.keys, kQueryBlock<T>)),
        dweights_over_keys(Factors<D>::for_sums_over_rows(memory, longest.keys, kQueryBlock<T>)),
        terms(memory, tables, longest),
        term_gradients(memory, tables, longest) {}
};

// Backward of one head of one segment (a job). The heads of a group run one after another in the same tiles: the first
// one loads their keys and values, all add to dk and dv, and the last one stores these.
template <class D>
struct HeadBackward {
  using T = Compute<D>;
  const BackwardPass<D>& a;
  const Head& h;
  const BackwardTiles<D>& t;
  int64_t job;
  double* dfrequencies;  // (pairs) of this job; may be null
  HeadTerms<T> terms;
  HeadTermGradients<T> term_gradients;

  HeadBackward(const BackwardPass<D>& a, const Head& h, const BackwardTiles<D>& t, int64_t job)
      : a(a),
        h(h),
        t(t),
        job(job),
        dfrequencies(a.dfrequencies ? a.dfrequencies + job * a.turned_queries.rotator.pairs() : nullptr),
        terms(a.terms, t.terms, h, a.scale),
        term_gradients{terms, a.term_gradients, t.term_gradients} {}

  bool first_of_group() const { return h.index % a.group == 0; }
  bool last_of_group() const { return (h.index + 1) % a.group == 0; }

  // dtheta = dy2 y1 - dy1 y2
  void add_angle_gradients(const RowRotation<T>& rotation, Tile<T> dy, Tile<T> y, int64_t first_row, int64_t n) const {
    const Rotator<T>& r = rotation.rotator;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t pair = 0; pair < r.pairs(); ++pair) {
        const int64_t first = r.first_of_pair(pair), second = r.second_of_pair(pair);
        dfrequencies[pair] +=
            double(rotation.positions[first_row + i]) * (double(dy.element(i, second)) * double(y.element(i, first)) -
                                                         double(dy.element(i, first)) * double(y.element(i, second)));
      }
    }
  }

  void load_block(const QueryBlock<T>& block) const {
    const int64_t row = h.first_query + block.begin;
    a.turned_queries.pack(t.q, a.q, row, h.feature(), block.count, h.width);
    copy_rows<T>(t.dout, a.dout.from(row, h.feature()), block.count, 0, h.width);
    t.q_transposed.load(t.q, block.count, h.width, bool(a.terms.query));
    t.dout_transposed.load(t.dout, block.count, h.width, bool(a.terms.value));
    const T* lse = a.lse + h.index * a.query_rows + row;
    for (int64_t i = 0; i < block.count; ++i) t.lse.data[i] = lse[i];
  }

  void weigh(const QueryBlock<T>& block) const {
    if (a.dropout.active()) a.dropout.fill(t.dropout, h, block);
    for (int64_t chunk = 0; chunk < block.chunks(); ++chunk) {
      softmax_lanes_backward<T>(t.weights.vectors(chunk), t.dweights.vectors(chunk),
                                a.dropout.active() ? t.dropout.vectors(chunk) : nullptr, block.keys_of(chunk), a.scale,
                                t.lse.vector(chunk, 0));
    }
  }

  // Computes the unscaled scores (into `weights`) and the gradients of the weights (into `dweights`).
  void score(const QueryBlock<T>& block) const {
    const Tile<Packed<D>> k = rows_from(t.k_over_features.latest(t.k), block.first),
                          v = rows_from(t.v_over_features.latest(t.v), block.first);
    const int64_t summed = packed_elements<D>(h.width);
    multiply<false>(t.weights, k, t.q_transposed.get(), block.keys, block.chunks(), summed, false);
    multiply<false>(t.dweights, v, t.dout_transposed.get(), block.keys, block.chunks(), summed, false);
    terms.add_scores(t.weights, t.q_transposed.exact(), t.k, block);
    terms.add_value_scores(t.dweights, t.dout_transposed.exact(), block);
  }

  // Adds to dk and dv, or writes them.
  void add_to_keys(const QueryBlock<T>& block, bool add) const {
    const int64_t features = chunks_of<T>(h.width), n = block.count, keys = block.keys, summed = packed_elements<D>(n);
    multiply<false>(rows_from(t.dv, block.first), t.weights_over_queries.over_columns(t.weights, keys, n),
                    t.dout_over_queries.over_rows(t.dout, n, h.width), keys, features, summed, add);
    multiply<false>(rows_from(t.dk, block.first), t.dweights_over_queries.over_columns(t.dweights, keys, n),
                    t.q_over_queries.over_rows(t.q, n, h.width), keys, features, summed, add);
    if (!add) clear_keys_around(block);
  }

  void run_block(const QueryBlock<T>& block) const {
    const int64_t n = block.count, keys = block.keys;
    load_block(block);
    score(block);
    weigh(block);
    add_to_keys(block, block.begin > 0 || !first_of_group());  // the first block writes dk and dv, later blocks add
    multiply<true>(t.dq, t.dweights_over_keys.over_rows(t.dweights, keys, n),
                   summed_from<D>(t.k_over_keys.latest(t.k), block.first), n, chunks_of<T>(h.width),
                   packed_elements<D>(keys), false);
    term_gradients.add({block, t.dweights, t.weights, t.q, t.dout, t.dq, t.k, t.dk});
    store_queries(block);
  }

  void clear_keys(int64_t begin, int64_t end) const {
    for (int64_t chunk = 0; chunk < chunks_of<T>(h.width); ++chunk)
      for (const Tile<T>& tile : {t.dk, t.dv}) std::fill_n(tile.at(begin, chunk), (end - begin) * kLanes<T>, T(0));
  }
  void clear_keys_around(const QueryBlock<T>& block) const {
    clear_keys(0, block.first);
    clear_keys(block.first + block.keys, h.keys);
  }

  void store_queries(const QueryBlock<T>& block) const {
    const int64_t row = h.first_query + block.begin;
    if (dfrequencies) add_angle_gradients(a.turned_queries, t.dq, t.q, row, block.count);
    if (a.dq) a.turned_queries.unpack(a.dq, row, h.feature(), t.dq, block.count, h.width);
  }

  void store_keys() const {
    if (dfrequencies) add_angle_gradients(a.turned_keys, t.dk, t.k, h.first_key, h.keys);
    if (a.dk) a.turned_keys.unpack(a.dk, h.first_key, h.key_feature(), t.dk, h.keys, h.width);
    if (a.dv) copy_rows<T>(a.dv.from(h.first_key, h.key_feature()), t.dv, h.keys, 0, h.width);
  }

  void load_keys() const {
    a.turned_keys.pack(t.k, a.k, h.first_key, h.key_feature(), h.keys, h.width);
    copy_rows<T>(t.v, a.v.from(h.first_key, h.key_feature()), h.keys, 0, h.width);
    t.k_over_features.over_columns(t.k, h.keys, h.width);
    t.v_over_features.over_columns(t.v, h.keys, h.width);
    t.k_over_keys.over_rows(t.k, h.keys, h.width);
    if (h.queries == 0) clear_keys(0, h.keys);
  }

  void run() const {
    if (first_of_group()) load_keys();
    terms.load();
    term_gradients.clear();
    for_each_query_block<T>(h, [&](const QueryBlock<T>& block) { run_block(block); });
    if (last_of_group()) store_keys();
    term_gradients.store(job);
  }
};

}  // namespace

void CpuKernels::attention_backward(const HeadColumns& dq, const HeadColumns& dk, const HeadColumns& dv,
                                    const Tensor& dfrequencies, const AttentionPositionTerms& dterms,
                                    const Tensor& dout, const Tensor& /*out*/, const HeadColumns& q,
                                    const HeadColumns& k, const HeadColumns& v, const Tensor& lse,
                                    const Segments& queries, const Segments& keys, const AttentionShape& shape,
                                    const AttentionRotation& rotation, const AttentionPositionTerms& terms) {
  dispatch_data_type(dout, [&]<class D>(D) {
    using T = Compute<D>;
    const int64_t pairs = rotation.rotary.dims / 2, width = dout.cols() / shape.heads;
    const TermTables<T> tables(terms, shape.heads);
    std::vector<double> angle_gradients(dfrequencies ? size_t(queries.count() * shape.heads * pairs) : 0);
    const BackwardPass<D> a{rows_of<D>(dq),
                            rows_of<D>(dk),
                            rows_of<D>(dv),
                            dfrequencies ? angle_gradients.data() : nullptr,
                            rows_of<D>({dout}),
                            rows_of<D>(q),
                            rows_of<D>(k),
                            rows_of<D>(v),
                            lse.data<T>(),
                            dout.rows(),
                            shape.group(),
                            T(shape.scale),
                            WeightDropout(shape.dropout, k.rows.rows(), queries.longest()),
                            RowRotation<T>(rotation, rotation.query_positions),
                            RowRotation<T>(rotation, rotation.key_positions),
                            tables,
                            TermGradients<T>(dterms, tables, queries, keys, width, shape)};
    for_each_head<BackwardTiles<D>>(
        queries, keys, width, shape, a.group, tables,
        [&](const Head& h, const BackwardTiles<D>& tiles, int64_t job) { HeadBackward<D>(a, h, tiles, job).run(); });
    a.term_gradients.reduce();
    for (int64_t pair = 0; pair < (dfrequencies ? pairs : 0); ++pair) {
      double sum = 0;
      for (size_t i = size_t(pair); i < angle_gradients.size(); i += size_t(pairs)) sum += angle_gradients[i];
      dfrequencies.data<T>()[pair] += T(rotation.rotary.position_scale * sum);
    }
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
