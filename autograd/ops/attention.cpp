#include <algorithm>

#include "autograd/ops.h"
#include "autograd/ops/formula.h"

namespace gyre {
namespace {

// Sum of min(i, most) over i = 1 .. n; 0 for n < 1.
int64_t bounded_sum(int64_t n, int64_t most) {
  const int64_t rising = std::clamp<int64_t>(n, 0, most);
  return rising * (rising + 1) / 2 + std::max<int64_t>(0, n - most) * most;
}

// Pairs of nq queries and nk keys whose distance is at most t.
int64_t pairs_up_to(int64_t t, int64_t nq, int64_t nk) {
  const int64_t last = nk + std::clamp(t, -nk, nq);  // keys that the last query has up to there, if there were as many
  return bounded_sum(last, nk) - bounded_sum(last - nq, nk);
}

// Pairs of a query and a key that it sees.
int64_t visible_pairs(const Segments& queries, const Segments& keys, const AttentionShape& shape) {
  int64_t pairs = 0;
  for (int s = 0; s < queries.count(); ++s) {
    const int64_t nq = queries.length(s), nk = keys.length(s);
    pairs += pairs_up_to(shape.causal ? 0 : shape.reach, nq, nk) - pairs_up_to(-shape.reach - 1, nq, nk);
  }
  return pairs;
}

// Queries, keys and values of d features: columns of two tensors, q and [k | v], or of one, [q | k | v].
struct Projections {
  HeadColumns q, k, v;
  Projections(const Tensor& q, const Tensor& kv, int64_t d) : q{q}, k{kv}, v{kv, d} {}
  Projections(const Tensor& qkv, int64_t d) : q{qkv}, k{qkv, d}, v{qkv, 2 * d} {}
};

// The rows of a segment, where there are any.
Tensor rows_of(const Tensor& rows, const Segments& segments, int s) {
  return rows ? rows.slice(segments.begin(s), segments.end(s)) : rows;
}

// (keys, heads * width), whose product with the weights of a head is their columns `first` and on, `width` of them.
Tensor identity_columns(int64_t keys, int64_t first, int64_t heads, int64_t width) {
  Tensor columns = Tensor::zeros({keys, heads * width});
  for (int64_t j = 0; j < std::min(width, keys - first); ++j)
    for (int64_t h = 0; h < heads; ++h) columns.data<float>()[(first + j) * heads * width + h * width + j] = 1;
  return columns;
}

// Columns `first` and on of weights(heads, queries, keys) from out(queries, heads * width).
void store_columns(const Tensor& weights, const Tensor& out, int64_t first) {
  const int64_t heads = weights.dim(0), queries = weights.dim(1), keys = weights.dim(2), width = out.cols() / heads;
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < queries; ++i)
      std::copy_n(out.data<float>() + i * out.cols() + h * width, std::min(width, keys - first),
                  weights.data<float>() + (h * queries + i) * keys + first);
}

// No matrix of scores is kept: backward computes P again from the log-sum-exp of each row.
// What order adds meets q, k and the weights where v does (AttentionTerms).
// Inputs: q and [k | v], or [q | k | v] and nothing; the rotation's frequencies; the terms.
struct Attention final : Op {
  std::string_view formula() const override {
    return R"(
      per segment and head, q and k turned by the rotation:
      out = P v,  P = dropout(softmax(S)),  S = scale q k^T over the visible keys
        dv = P^T dout;  dP = dropout(dout v^T);  dS = P * (dP - rowsum(P * dP))
        dq = scale dS k;  dk = scale dS^T q
    )"_formula;
  }
  bool self = false;
  Tensor lse;  // saved: one number per head and query
  Segments queries, keys;
  AttentionShape shape;
  AttentionRotation rotation;
  int64_t zero = 0;  // of the terms
  int64_t d = 0;
  std::string_view name() const override { return "attention"; }
  double flops() const override { return 4 * double(visible_pairs(queries, keys, shape)) * double(d); }
  void describe(OpFacts& facts) const override {
    facts.attribute("heads", shape.heads);
    if (shape.causal) facts.attribute("causal", "yes");
    if (shape.reach < AttentionShape::kFar) facts.attribute("reach", shape.reach);
    if (shape.dropout.rate > 0) facts.attribute("dropout", shape.dropout.rate);
    if (rotation.angles) facts.attribute("rotary", rotation.rotary.dims);
    facts.attribute("segments", queries.count());
    facts.save("lse", lse);
    facts.save("angles", rotation.angles);
    facts.save("positions", rotation.query_positions);
    facts.save("key positions", self ? Tensor() : rotation.key_positions);
  }
  // P of a segment without dropout, (heads, queries, keys): what comes out where the values are columns of the
  // identity.
  Tensor weights(Kernels& kernels, const std::vector<Tensor>& in, int s) const {
    const Projections all = self ? Projections(in[0], d) : Projections(in[0], in[1], d);
    const HeadColumns q{rows_of(all.q.rows, queries, s), all.q.first}, k{rows_of(all.k.rows, keys, s), all.k.first};
    AttentionTerms terms = terms_of([&](int i) { return in[size_t(i)]; });
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
      const Tensor v = identity_columns(one_k.tokens(), first, shape.heads, width).to(out.dtype()).to(out.device());
      kernels.attention(out, {}, q, k, {v}, one_q, one_k, plain, turned, terms);
      store_columns(weights, out.to_cpu().to(DType::f32), first);
    }
    return weights;
  }
  void backward(Backward& b) override {
    const Projections in = self ? Projections(b.input(0), d) : Projections(b.input(0), b.input(1), d);
    const Projections din = self ? Projections(b.dinput(0), d) : Projections(b.dinput(0), b.dinput(1), d);
    const AttentionTerms terms = terms_of([&](int i) { return b.input(i); });
    const AttentionTerms dterms = terms_of([&](int i) { return b.dinput(i); });
    b.kernels().attention_backward(din.q, din.k, din.v, b.dparameter(2), dterms, b.doutput(), in.q, in.k, in.v, lse,
                                   queries, keys, shape, rotation, terms);
  }

 private:
  template <class Input>
  AttentionTerms terms_of(const Input& input) const {
    return {input(3), input(4), input(5), input(6), input(7), input(8), zero};
  }
};

// Whether a table of distances has those that some query and key of the segments have.
void check_terms(const DistanceTerms& terms, int64_t heads, int64_t width, const Segments& queries,
                 const Segments& keys, const AttentionOptions& options) {
  int64_t longest = 0, ahead = 0;  // keys, and queries before them
  for (int s = 0; s < keys.count(); ++s) {
    if (queries.length(s) == 0) continue;
    longest = std::max<int64_t>(longest, keys.length(s));
    ahead = std::max<int64_t>(ahead, queries.length(s));
  }
  const int64_t before = std::min(std::max<int64_t>(0, longest - 1), options.reach);
  const int64_t after = options.causal ? 0 : std::min(std::max<int64_t>(0, ahead - 1), options.reach);
  const auto check_table = [&](const char* name, const Var& table, int64_t columns) {
    if (!table) return;
    const Shape& shape = table.shape();
    require(shape.rank() == 2 && (shape[1] == columns || (shape[1] == width && columns == heads * width)),
            "[attention] expected a ", name, " of ", columns, " columns, got ", shape.text());
    require(longest == 0 || (terms.zero >= before && shape[0] - terms.zero > after), "[attention] the ", name,
            " must have distances -", before, " to ", after, ", got -", terms.zero, " to ", shape[0] - terms.zero - 1);
  };
  check_table("bias", terms.bias, heads);
  check_table("query table", terms.query_table, heads * width);
  check_table("key table", terms.key_table, heads * width);
  check_table("value table", terms.value_table, heads * width);
  require(bool(terms.query_places) == bool(terms.key_places),
          "[attention] expected places of queries and keys, or of neither");
  if (!terms.query_places) return;
  const Shape &q = terms.query_places.shape(), &k = terms.key_places.shape();
  require(q.rank() == 2 && q == k && q[1] % heads == 0 && q[0] >= longest, "[attention] expected ", longest,
          " places of ", heads, " heads, got ", q.text(), " of queries and ", k.text(), " of keys");
}

void check(int64_t d, int64_t query_rows, int64_t key_rows, const Segments& queries, const Segments& keys,
           const AttentionOptions& options) {
  const int heads = options.heads;
  require(options.dropout >= 0 && options.dropout < 1, "[attention] the rate must be at least 0 and below 1, got ",
          options.dropout);
  require(heads > 0 && d % heads == 0, "[attention] the width ", d, " must be a multiple of the ", heads, " heads");
  require(queries.count() == keys.count(), "[attention] expected as many segments of keys as of queries, ",
          queries.count(), ", got ", keys.count());
  require(queries.tokens() == query_rows && keys.tokens() == key_rows, "[attention] the segments cover ",
          queries.tokens(), " queries and ", keys.tokens(), " keys, got ", query_rows, " and ", key_rows);
  check_terms(options.terms, heads, d / heads, queries, keys, options);
  if (!options.rotation) return;
  options.rotation.check(heads, d / heads, options.query_positions, query_rows);
  options.rotation.check(heads, d / heads, options.key_positions, key_rows);
}

// kv is empty for self-attention, whose x is [q | k | v].
Var record_attention(const Var& x, const Var& kv, int64_t d, const Segments& queries, const Segments& keys,
                     const AttentionOptions& options) {
  Tape& tape = x.tape();
  const Rotation& rotation = options.rotation;
  auto op = std::make_unique<Attention>();
  op->self = !kv;
  op->queries = queries;
  op->keys = keys;
  op->d = d;
  const DistanceTerms& terms = options.terms;
  op->zero = terms.zero;
  op->shape = {.heads = options.heads,
               .scale = terms.score_scale(d / options.heads),
               .causal = options.causal,
               .reach = options.reach,
               .dropout = {}};
  if (options.dropout > 0 && tape.training()) op->shape.dropout = tape.next_dropout(options.dropout);
  if (rotation) op->rotation = {rotation.rotary, rotation.angles, options.query_positions, options.key_positions};

  const Tensor& in = x.value();
  const Tensor out = Tensor::empty({in.dim(0), d}, in.dtype(), in.device());
  op->lse = Tensor::empty({options.heads, in.dim(0)}, statistics_dtype(in.dtype()), in.device());
  const Projections columns = kv ? Projections(in, kv.value(), d) : Projections(in, d);
  x.kernels().attention(out, op->lse, columns.q, columns.k, columns.v, queries, keys, op->shape, op->rotation,
                        terms.values());
  const auto or_none = [none = tape.constant({})](const Var& v) { return v ? v : none; };
  return tape.record(
      std::move(op), out,
      {x, or_none(kv), or_none(rotation.frequencies), or_none(terms.bias), or_none(terms.query_table),
       or_none(terms.key_table), or_none(terms.value_table), or_none(terms.query_places), or_none(terms.key_places)});
}

}  // namespace

AttentionTerms DistanceTerms::values() const {
  const auto value = [](const Var& v) { return v ? v.value() : Tensor(); };
  return {value(bias), value(query_table), value(key_table), value(value_table), value(query_places), value(key_places),
          zero};
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
  require(q.shape().rank() == 2 && kv.shape().rank() == 2 && kv.shape()[1] == 2 * q.shape()[1],
          "[attention] expected q(nq,d) and kv(nk,2d), got ", q.shape().text(), " and ", kv.shape().text());
  check(q.shape()[1], q.shape()[0], kv.shape()[0], queries, keys, options);
  return record_attention(q, kv, q.shape()[1], queries, keys, options);
}

Var self_attention(const Var& qkv, const Segments& segments, const AttentionOptions& options) {
  require(qkv.shape().rank() == 2 && qkv.shape()[1] % 3 == 0, "[attention] expected qkv(n,3d), got ",
          qkv.shape().text());
  const int64_t d = qkv.shape()[1] / 3;
  AttentionOptions both = options;
  both.key_positions = options.query_positions;
  check(d, qkv.shape()[0], qkv.shape()[0], segments, segments, both);
  return record_attention(qkv, {}, d, segments, segments, both);
}

}  // namespace gyre
