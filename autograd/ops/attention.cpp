// Softmax attention. The matrix of scores is never stored: backward recomputes P from the log-sum-exp of each row
// (FlashAttention, Dao et al. 2022).
#include <algorithm>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

// Sum of min(i, most) over i = 1 .. n; 0 if n < 1.
int64_t bounded_sum(int64_t n, int64_t most) {
  const int64_t rising = std::clamp<int64_t>(n, 0, most);
  return rising * (rising + 1) / 2 + std::max<int64_t>(0, n - most) * most;
}

// Number of (query, key) pairs, out of nq queries and nk keys, with distance at most t (AttentionShape).
int64_t pairs_up_to(int64_t t, int64_t nq, int64_t nk) {
  const int64_t last = nk + std::clamp(t, -nk, nq);  // keys with distance <= t from the last query, not capped at nk
  return bounded_sum(last, nk) - bounded_sum(last - nq, nk);
}

// Number of (query, visible key) pairs.
int64_t visible_pairs(const Segments& queries, const Segments& keys, const AttentionShape& shape) {
  int64_t pairs = 0;
  for (int s = 0; s < queries.count(); ++s) {
    const int64_t nq = queries.length(s), nk = keys.length(s);
    pairs += pairs_up_to(shape.causal ? 0 : shape.window, nq, nk) - pairs_up_to(-shape.window - 1, nq, nk);
  }
  return pairs;
}

// The inputs that hold queries, keys and values: [q | k | v]; q and [k | v]; or q, k and v.
enum class Layout : uint8_t { together, keys_with_values, apart };

// Queries of d columns, and keys and values of kd columns each, in one to three tensors.
struct Projections {
  HeadColumns q, k, v;
  Projections(Layout layout, const Tensor& x, const Tensor& memory, const Tensor& values, int64_t d, int64_t kd) {
    q = {x};
    k = layout == Layout::together ? HeadColumns{x, d} : HeadColumns{memory};
    v = layout == Layout::together           ? HeadColumns{x, d + kd}
        : layout == Layout::keys_with_values ? HeadColumns{memory, kd}
                                             : HeadColumns{values};
  }
};

// The rows of segment s; undefined if `rows` is.
Tensor rows_of(const Tensor& rows, const Segments& segments, int s) {
  return rows ? rows.slice(segments.begin(s), segments.end(s)) : rows;
}

// Values (keys, heads * width) for which the output of each head is columns first .. first + width - 1 of its weights.
Tensor identity_columns(int64_t keys, int64_t first, int64_t heads, int64_t width) {
  Tensor columns = Tensor::zeros({keys, heads * width});
  for (int64_t j = 0; j < std::min(width, keys - first); ++j)
    for (int64_t h = 0; h < heads; ++h) columns.data<float>()[(first + j) * heads * width + h * width + j] = 1;
  return columns;
}

// Copies out(queries, heads * width) to columns first .. first + width - 1 of weights(heads, queries, keys).
void store_columns(const Tensor& weights, const Tensor& out, int64_t first) {
  const int64_t heads = weights.dim(0), queries = weights.dim(1), keys = weights.dim(2), width = out.cols() / heads;
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < queries; ++i)
      std::copy_n(out.data<float>() + i * out.cols() + h * width, std::min(width, keys - first),
                  weights.data<float>() + (h * queries + i) * keys + first);
}

// Inputs: two of the layout, of which the second is empty if they are together; the rotation's frequencies; the
// position terms, whose formula is at AttentionPositionTerms; the values of the layout `apart`.
struct Attention final : Op {
  std::string_view formula() const override {
    return R"(
      per segment and head, with q and k rotated, and k and v shared by the heads of a group:
      out = P v,  P = dropout(softmax(S)),  S = scale q k^T over the visible keys
        dv = P^T dout;  dP = dropout(dout v^T);  dS = P * (dP - rowsum(P * dP))
        dq = scale dS k;  dk = scale dS^T q;  dk and dv are summed over the group
    )"_formula;
  }
  Layout layout = Layout::together;
  Tensor lse;  // saved: (heads, queries), the log-sum-exp of each row of S
  Segments queries, keys;
  AttentionShape shape;
  AttentionRotation rotation;
  int64_t zero_offset = 0;  // of the position terms
  int64_t d = 0;            // columns of the queries
  std::string_view name() const override { return "attention"; }
  double flops() const override { return 4 * double(visible_pairs(queries, keys, shape)) * double(d); }
  void describe(OpMetadata& metadata) const override {
    metadata.attribute("heads", shape.heads);
    if (shape.group() > 1) metadata.attribute("key/value heads", shape.key_heads());
    if (shape.causal) metadata.attribute("causal", "yes");
    if (shape.window < AttentionShape::kUnlimited) metadata.attribute("window", shape.window);
    if (shape.dropout.rate > 0) metadata.attribute("dropout", shape.dropout.rate);
    if (rotation.angles) metadata.attribute("rotary", rotation.rotary.dims);
    metadata.attribute("segments", queries.count());
    metadata.save("lse", lse);
    metadata.save("angles", rotation.angles);
    metadata.save("positions", rotation.query_positions);
    metadata.save("key positions", layout == Layout::together ? Tensor() : rotation.key_positions);
  }
  // P of segment s without dropout, (heads, queries, keys): the output of attention if the values are the columns of
  // the identity matrix.
  Tensor weights(Kernels& kernels, const std::vector<Tensor>& in, int s) const {
    const Projections all = projections([&](int i) { return in[size_t(i)]; });
    const HeadColumns q{rows_of(all.q.rows, queries, s), all.q.first}, k{rows_of(all.k.rows, keys, s), all.k.first};
    AttentionPositionTerms terms = terms_of([&](int i) { return in[size_t(i)]; });
    terms.value_table = {};
    AttentionShape plain = shape;
    plain.dropout = {};
    const AttentionRotation turned{rotation.rotary, rotation.angles, rows_of(rotation.query_positions, queries, s),
                                   rows_of(rotation.key_positions, keys, s)};
    const Segments one_q = Segments::from_lengths({queries.length(s)}),
                   one_k = Segments::from_lengths({keys.length(s)});
    const int64_t width = d / shape.heads;
    Tensor weights = Tensor::empty({shape.heads, one_q.tokens(), one_k.tokens()});
    const Tensor out = Tensor::empty({one_q.tokens(), d}, q.rows.dtype(), q.rows.device());
    for (int64_t first = 0; first < one_k.tokens(); first += width) {
      const Tensor columns = identity_columns(one_k.tokens(), first, shape.key_heads(), width);
      const Tensor v = columns.to(out.dtype()).to(out.device());
      kernels.attention(out, {}, q, k, {v}, one_q, one_k, plain, turned, terms);
      store_columns(weights, out.to_cpu().to(DType::f32), first);
    }
    return weights;
  }
  void backward(Backward& b) override {
    const Projections in = projections([&](int i) { return b.input(i); });
    const Projections din = projections([&](int i) { return b.dinput(i); });
    const AttentionPositionTerms terms = terms_of([&](int i) { return b.input(i); });
    const AttentionPositionTerms dterms = terms_of([&](int i) { return b.dinput(i); });
    b.kernels().attention_backward(din.q, din.k, din.v, b.dparameter(2), dterms, b.doutput(), b.output(), in.q, in.k,
                                   in.v, lse, queries, keys, shape, rotation, terms);
  }

 private:
  template <class Input>
  Projections projections(const Input& input) const {
    const bool together = layout == Layout::together;
    return {layout, input(0),         together ? Tensor() : input(1), layout == Layout::apart ? input(9) : Tensor(),
            d,      d / shape.group()};
  }
  template <class Input>
  AttentionPositionTerms terms_of(const Input& input) const {
    return {input(3), input(4), input(5), input(6), input(7), input(8), zero_offset};
  }
};

// Throws unless the terms have the right shapes and a row for every distance and position that the segments need.
void check_terms(const PositionTerms& terms, int64_t heads, int64_t width, const Segments& queries,
                 const Segments& keys, const AttentionOptions& options) {
  int64_t longest = 0, ahead = 0;  // largest number of keys and of queries in a segment that has queries
  for (int s = 0; s < keys.count(); ++s) {
    if (queries.length(s) == 0) continue;
    longest = std::max<int64_t>(longest, keys.length(s));
    ahead = std::max<int64_t>(ahead, queries.length(s));
  }
  const int64_t before = std::min(std::max<int64_t>(0, longest - 1), options.window);
  const int64_t after = options.causal ? 0 : std::min(std::max<int64_t>(0, ahead - 1), options.window);
  const auto check_table = [&](const char* name, const Var& table, int64_t columns) {
    if (!table) return;
    const Shape& shape = table.shape();
    require(shape.rank() == 2 && (shape[1] == columns || (shape[1] == width && columns == heads * width)),
            "[attention] expected a ", name, " of ", columns, " columns, got ", shape.text());
    require(longest == 0 || (terms.zero_offset >= before && shape[0] - terms.zero_offset > after), "[attention] the ",
            name, " must have distances -", before, " to ", after, ", got -", terms.zero_offset, " to ",
            shape[0] - terms.zero_offset - 1);
  };
  check_table("bias", terms.bias, heads);
  check_table("query table", terms.query_table, heads * width);
  check_table("key table", terms.key_table, heads * width);
  check_table("value table", terms.value_table, heads * width);
  require(bool(terms.pos_queries) == bool(terms.pos_keys),
          "[attention] expected both pos_queries and pos_keys, or neither");
  if (!terms.pos_queries) return;
  const Shape &q = terms.pos_queries.shape(), &k = terms.pos_keys.shape();
  require(q.rank() == 2 && q == k && q[1] % heads == 0 && q[0] >= longest, "[attention] expected ", longest,
          " positions of ", heads, " heads, got ", q.text(), " for pos_queries and ", k.text(), " for pos_keys");
}

// The number of heads of keys and values. Throws unless the heads are divisible into groups.
int64_t checked_key_heads(const AttentionOptions& options) {
  const int heads = options.heads, kv_heads = options.kv_heads;
  require(heads > 0, "[attention] expected at least one head, got ", heads);
  require(kv_heads >= 0 && (kv_heads == 0 || heads % kv_heads == 0), "[attention] the ", heads,
          " heads must be a multiple of the key/value heads, got ", kv_heads);
  return AttentionShape{.heads = heads, .kv_heads = kv_heads, .dropout = {}}.key_heads();
}

void check(int64_t d, int64_t query_rows, int64_t key_rows, const Segments& queries, const Segments& keys,
           const AttentionOptions& options) {
  const int heads = options.heads;
  require(d % heads == 0, "[attention] the width ", d, " must be a multiple of the ", heads, " heads");
  require(queries.count() == keys.count(), "[attention] expected as many segments of keys as of queries, ",
          queries.count(), ", got ", keys.count());
  require(queries.tokens() == query_rows && keys.tokens() == key_rows, "[attention] the segments cover ",
          queries.tokens(), " queries and ", keys.tokens(), " keys, got ", query_rows, " and ", key_rows);
  check_terms(options.terms, heads, d / heads, queries, keys, options);
  const Tensor& largest = options.largest_logits;
  require(!largest || (largest.size() == heads && largest.dtype() == DType::f64),
          "[attention] expected largest logits of ", heads, " heads in f64");
  if (!options.rotation) return;
  options.rotation.check(heads, d / heads, options.query_positions, query_rows);
  options.rotation.check(heads, d / heads, options.key_positions, key_rows);
}

// x, memory and values: as in the inputs of the op.
Var record_attention(const Var& x, const Var& memory, const Var& values, int64_t d, const Segments& queries,
                     const Segments& keys, const AttentionOptions& options) {
  Tape& tape = x.tape();
  const Rotation& rotation = options.rotation;
  auto op = std::make_unique<Attention>();
  op->layout = !memory ? Layout::together : values ? Layout::apart : Layout::keys_with_values;
  op->queries = queries;
  op->keys = keys;
  op->d = d;
  const PositionTerms& terms = options.terms;
  op->zero_offset = terms.zero_offset;
  op->shape = {.heads = options.heads,
               .kv_heads = options.kv_heads,
               .scale = terms.score_scale(d / options.heads),
               .causal = options.causal,
               .window = options.window,
               .dropout = tape.next_dropout("attention", options.dropout)};
  if (rotation) op->rotation = {rotation.rotary, rotation.angles, options.query_positions, options.key_positions};

  const Tensor& in = x.value();
  const Tensor out = Tensor::empty({in.dim(0), d}, in.dtype(), in.device());
  op->lse = Tensor::empty({options.heads, in.dim(0)}, statistics_dtype(in.dtype()), in.device());
  const Projections columns(op->layout, in, memory.value(), values.value(), d, d / op->shape.group());
  x.kernels().attention(out, op->lse, columns.q, columns.k, columns.v, queries, keys, op->shape, op->rotation,
                        terms.values());
  if (options.largest_logits) {
    x.kernels().largest_logits(options.largest_logits, columns.q, columns.k, queries, keys, op->shape,
                               d / options.heads, op->rotation);
  }
  return tape.record(std::move(op), out,
                     {x, memory, rotation.frequencies, terms.bias, terms.query_table, terms.key_table,
                      terms.value_table, terms.pos_queries, terms.pos_keys, values});
}

}  // namespace

AttentionPositionTerms PositionTerms::values() const {
  return {bias.value(),        query_table.value(), key_table.value(), value_table.value(),
          pos_queries.value(), pos_keys.value(),    zero_offset};
}

Tensor attention_weights(const Tape& tape, int node, int segment) {
  const Node& recorded = tape.nodes().at(size_t(node));
  const auto* op = dynamic_cast<const Attention*>(recorded.op.get());
  require(op != nullptr, "[attention weights] expected a node of softmax attention, got ", recorded.name());
  require(segment >= 0 && segment < op->queries.count(), "[attention weights] expected a segment below ",
          op->queries.count(), ", got ", segment);
  return op->weights(tape.kernels(), recorded.input_values, segment);
}

Var attention(const Var& q, const Var& kv, const Segments& queries, const Segments& keys,
              const AttentionOptions& options) {
  const int64_t group = options.heads / checked_key_heads(options);
  require(q.shape().rank() == 2 && kv.shape().rank() == 2 && kv.shape()[1] * group == 2 * q.shape()[1],
          "[attention] expected q(nq, heads * width) and kv(nk, 2 * key/value heads * width), got ", q.shape().text(),
          " and ", kv.shape().text());
  check(q.shape()[1], q.shape()[0], kv.shape()[0], queries, keys, options);
  return record_attention(q, kv, {}, q.shape()[1], queries, keys, options);
}

Var attention(const Var& q, const Var& k, const Var& v, const Segments& queries, const Segments& keys,
              const AttentionOptions& options) {
  const int64_t group = options.heads / checked_key_heads(options);
  require(
      q.shape().rank() == 2 && k.shape().rank() == 2 && k.shape() == v.shape() && k.shape()[1] * group == q.shape()[1],
      "[attention] expected q(nq, heads * width), k and v(nk, key/value heads * width), got ", q.shape().text(), ", ",
      k.shape().text(), " and ", v.shape().text());
  check(q.shape()[1], q.shape()[0], k.shape()[0], queries, keys, options);
  return record_attention(q, k, v, q.shape()[1], queries, keys, options);
}

Var self_attention(const Var& qkv, const Segments& segments, const AttentionOptions& options) {
  const int64_t heads = options.heads + 2 * checked_key_heads(options);
  require(qkv.shape().rank() == 2 && qkv.shape()[1] % heads == 0, "[attention] expected qkv(n, ", heads,
          " * width), got ", qkv.shape().text());
  const int64_t d = qkv.shape()[1] / heads * options.heads;
  AttentionOptions both = options;
  both.key_positions = options.query_positions;
  check(d, qkv.shape()[0], qkv.shape()[0], segments, segments, both);
  return record_attention(qkv, {}, {}, d, segments, segments, both);
}

}  // namespace gyre
