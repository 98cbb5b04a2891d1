// Softmax attention. The matrix of scores is never stored: backward recomputes P from the log-sum-exp of each row
// (FlashAttention, Dao et al. 2022).
#include <algorithm>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/attention_op.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/autograd/ops/rotation_details.h"

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

}  // namespace

std::string_view AttentionOp::formula() const {
  return R"(
      per segment and head, with q and k rotated, and k and v shared by the heads of a group:
      out = P v,  P = dropout(softmax(S)),  S = scale q k^T over the visible keys
        dv = P^T dout;  dP = dropout(dout v^T);  dS = P * (dP - rowsum(P * dP))
        dq = scale dS k;  dk = scale dS^T q;  dk and dv are summed over the group
    )"_formula;
}

double AttentionOp::flops() const { return 4 * double(visible_pairs(queries, keys, shape)) * double(d); }

void AttentionOp::describe(OpMetadata& metadata) const {
  metadata.attribute("heads", shape.heads);
  if (shape.group() > 1) metadata.attribute("key/value heads", shape.key_heads());
  if (shape.causal) metadata.attribute("causal", "yes");
  if (shape.window < AttentionShape::kUnlimited) metadata.attribute("window", shape.window);
  if (shape.scale != PositionTerms().score_scale(width())) metadata.attribute("scale", shape.scale);
  if (shape.dropout.rate > 0) metadata.attribute("dropout", shape.dropout.rate);
  if (rotation.angles) describe_rotation(metadata, rotation.rotary);
  metadata.attribute("segments", queries.count());
  metadata.save("lse", lse);
  metadata.save("angles", rotation.angles);
  metadata.save("positions", rotation.query_positions);
  metadata.save("key positions", layout == AttentionLayout::together ? Tensor() : rotation.key_positions);
}

void AttentionOp::backward(Backward& b) {
  const AttentionProjections in = projections([&](int i) { return b.input(i); });
  const AttentionProjections din = projections([&](int i) { return b.dinput(i); });
  const AttentionPositionTerms terms = terms_of([&](int i) { return b.input(i); });
  const AttentionPositionTerms dterms = terms_of([&](int i) { return b.dinput(i); });
  b.kernels().attention_backward(din.q, din.k, din.v, b.dparameter(2), dterms, b.doutput(), b.output(), in.q, in.k,
                                 in.v, lse, queries, keys, shape, rotation, terms);
}

namespace {

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
            "[attention] expected a ", name, " of ", columns, " columns, got ", shape);
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
          " positions of ", heads, " heads, got ", q, " for pos_queries and ", k, " for pos_keys");
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
  if (!options.rotation) return;
  options.rotation.check(heads, d / heads, options.query_positions, query_rows);
  options.rotation.check(heads, d / heads, options.key_positions, key_rows);
}

// x, memory and values: as in the inputs of the op.
Var record_attention(const Var& x, const Var& memory, const Var& values, int64_t d, const Segments& queries,
                     const Segments& keys, const AttentionOptions& options) {
  Tape& tape = x.tape();
  const RopeAngles& rotation = options.rotation;
  auto op = std::make_unique<AttentionOp>();
  op->layout = !memory  ? AttentionLayout::together
               : values ? AttentionLayout::apart
                        : AttentionLayout::keys_with_values;
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
  const AttentionProjections columns(op->layout, in, memory.value(), values.value(), d, d / op->shape.group());
  x.kernels().attention(out, op->lse, columns.q, columns.k, columns.v, queries, keys, op->shape, op->rotation,
                        terms.values());
  return tape.record(std::move(op), out,
                     {x, memory, rotation.frequencies, terms.bias, terms.query_table, terms.key_table,
                      terms.value_table, terms.pos_queries, terms.pos_keys, values});
}

}  // namespace

AttentionPositionTerms PositionTerms::values() const {
  return {bias.value(),        query_table.value(), key_table.value(), value_table.value(),
          pos_queries.value(), pos_keys.value(),    zero_offset};
}

Var attention(const Var& q, const Var& kv, const Segments& queries, const Segments& keys,
              const AttentionOptions& options) {
  const int64_t group = options.heads / checked_key_heads(options);
  require(q.shape().rank() == 2 && kv.shape().rank() == 2 && kv.shape()[1] * group == 2 * q.shape()[1],
          "[attention] expected q(nq, heads * width) and kv(nk, 2 * key/value heads * width), got ", q.shape(), " and ",
          kv.shape());
  check(q.shape()[1], q.shape()[0], kv.shape()[0], queries, keys, options);
  return record_attention(q, kv, {}, q.shape()[1], queries, keys, options);
}

Var attention(const Var& q, const Var& k, const Var& v, const Segments& queries, const Segments& keys,
              const AttentionOptions& options) {
  const int64_t group = options.heads / checked_key_heads(options);
  require(
      q.shape().rank() == 2 && k.shape().rank() == 2 && k.shape() == v.shape() && k.shape()[1] * group == q.shape()[1],
      "[attention] expected q(nq, heads * width), k and v(nk, key/value heads * width), got ", q.shape(), ", ",
      k.shape(), " and ", v.shape());
  check(q.shape()[1], q.shape()[0], k.shape()[0], queries, keys, options);
  return record_attention(q, k, v, q.shape()[1], queries, keys, options);
}

Var self_attention(const Var& qkv, const Segments& segments, const AttentionOptions& options) {
  const int64_t heads = options.heads + 2 * checked_key_heads(options);
  require(qkv.shape().rank() == 2 && qkv.shape()[1] % heads == 0, "[attention] expected qkv(n, ", heads,
          " * width), got ", qkv.shape());
  const int64_t d = qkv.shape()[1] / heads * options.heads;
  AttentionOptions both = options;
  both.key_positions = options.query_positions;
  check(d, qkv.shape()[0], qkv.shape()[0], segments, segments, both);
  return record_attention(qkv, {}, {}, d, segments, segments, both);
}

}  // namespace gyre
