// Scaled dot-product attention over packed segments, backward. The weights are recomputed from the saved lse. With
// p_ij = exp(scale q_i . k_j - lse_i) and m_ij the dropout factor (1 without dropout):
//   dv_j = sum_i m_ij p_ij dout_i;  dp_ij = m_ij dout_i . v_j;  D_i = sum_j p_ij dp_ij
//   ds_ij = scale p_ij (dp_ij - D_i);  dq_i = sum_j ds_ij k_j;  dk_j = sum_i ds_ij q_i
// Gradients of the relative-position terms: position_terms_backward.h. With a rotation, q and k are the rotated ones:
// dq and dk are rotated back, after the gradient of the angles is computed from them.
#include <vector>

#include "gyre/core/cpu/attention/position_terms_backward.h"
#include "gyre/core/cpu/attention/softmax_lanes.h"
#include "gyre/core/cpu/cpu_kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class D>
struct BackwardPass {
  using T = Compute<D>;
  Rows<D> dq, dk, dv;    // each may be null
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

template <class T>
struct BackwardTiles {
  using Element = T;
  Tile<T> k, v, dk, dv;                   // (keys, width)
  Tile<T> q, dout, dq;                    // (queries, width) of a block
  Tile<T> q_transposed, dout_transposed;  // (width, queries)
  Tile<T> weights, dweights, factors;     // (keys, queries)
  Tile<T> lse;                            // (chunks of queries, lanes)
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
        q_transposed(memory.take(round_up(longest.width, kLanes<T>), kQueryBlock<T>)),
        dout_transposed(memory.take(round_up(longest.width, kLanes<T>), kQueryBlock<T>)),
        weights(memory.take(longest.keys, kQueryBlock<T>)),
        dweights(memory.take(longest.keys, kQueryBlock<T>)),
        factors(memory.take(longest.keys, kQueryBlock<T>)),
        lse(memory.take(2, kLanes<T>)),
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
  const BackwardTiles<T>& t;
  int64_t job;
  double* dfrequencies;  // (pairs) of this job; may be null
  HeadTerms<T> terms;
  HeadTermGradients<T> term_gradients;

  HeadBackward(const BackwardPass<D>& a, const Head& h, const BackwardTiles<T>& t, int64_t job)
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
    transpose_tile(t.q_transposed, t.q, block.count, h.width);
    transpose_tile(t.dout_transposed, t.dout, block.count, h.width);
    const T* lse = a.lse + h.index * a.query_rows + row;
    for (int64_t i = 0; i < block.count; ++i) t.lse.data[i] = lse[i];
  }

  void weigh(const QueryBlock<T>& block) const {
    if (a.dropout.active()) a.dropout.fill(t.factors, h, block);
    for (int64_t chunk = 0; chunk < block.chunks(); ++chunk) {
      softmax_lanes_backward<T>(t.weights.vectors(chunk), t.dweights.vectors(chunk),
                                a.dropout.active() ? t.factors.vectors(chunk) : nullptr, block.keys_of(chunk), a.scale,
                                t.lse.vector(chunk, 0));
    }
  }

  void run_block(const QueryBlock<T>& block) const {
    const int64_t features = chunks_of<T>(h.width), n = block.count, keys = block.keys;
    const bool add = block.begin > 0 || !first_of_group();  // the first block writes dk and dv, later blocks add
    const Tile<T> k = rows_from(t.k, block.first), v = rows_from(t.v, block.first);
    load_block(block);
    multiply<false>(t.weights, k, t.q_transposed, keys, block.chunks(), h.width, false);
    multiply<false>(t.dweights, v, t.dout_transposed, keys, block.chunks(), h.width, false);
    terms.add_scores(t.weights, t.q_transposed, t.k, block);
    terms.add_value_scores(t.dweights, t.dout_transposed, block);
    weigh(block);
    multiply<false>(rows_from(t.dv, block.first), t.weights, t.dout, keys, features, n, add);
    multiply<false>(rows_from(t.dk, block.first), t.dweights, t.q, keys, features, n, add);
    if (!add) clear_keys_around(block);
    multiply<true>(t.dq, t.dweights, k, n, features, keys, false);
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
    for_each_head<BackwardTiles<T>>(
        queries, keys, width, shape, a.group, tables,
        [&](const Head& h, const BackwardTiles<T>& tiles, int64_t job) { HeadBackward<D>(a, h, tiles, job).run(); });
    a.term_gradients.reduce();
    for (int64_t pair = 0; pair < (dfrequencies ? pairs : 0); ++pair) {
      double sum = 0;
      for (size_t i = size_t(pair); i < angle_gradients.size(); i += size_t(pairs)) sum += angle_gradients[i];
      dfrequencies.data<T>()[pair] += T(rotation.rotary.position_scale * sum);
    }
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
