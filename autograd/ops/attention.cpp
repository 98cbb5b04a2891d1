// Softmax attention. The matrix of scores is never stored: backward recomputes P from the log-sum-exp of each row
// (FlashAttention, Dao et al. 2022).
#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/attention_op.h"
#include "gyre/autograd/ops/composed.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/core/random.h"

namespace gyre {
namespace {

// ---- The composed definition: every score of every pair ----------------------------------------------------------

// One head of one segment, q(nq, width), k and v(nk, width). keep(nq, nk): the factors of dropout, which may be empty.
Var composed_attention(const Var& q, const Var& k, const Var& v, int head, const AttentionOptions& options,
                       const Var& keep) {
  const int64_t nq = q.shape()[0], nk = k.shape()[0], width = q.shape()[1];
  const PositionTerms& terms = options.terms;
  const auto distance = [=](int64_t i, int64_t j) { return j - (i + nk - nq); };
  // The head's own columns of a table, or all columns if the heads share them.
  const auto of_head = [&](const Var& table) {
    return table.shape()[1] == width ? table : slice(table, 1, head * width, width);
  };
  // The element (row(i, j), distance of i and j) of products(rows, distances). Only hidden pairs have no such distance.
  const auto by_distance = [&](const Var& products, const auto& row) {
    const int64_t distances = products.shape()[1];
    return pick(products, nq, nk, [&](int64_t i, int64_t j) {
      const int64_t t = terms.zero_offset + distance(i, j);
      return t < 0 || t >= distances ? -1 : row(i, j) * distances + t;
    });
  };

  Var scores =
      as_stored(matmul(as_stored(q, Stored::value), as_stored(k, Stored::value), false, true), Stored::gradient);
  if (terms.query_table)
    scores = scores + by_distance(matmul(q, of_head(terms.query_table), false, true),
                                  [](int64_t i, int64_t /*j*/) { return i; });
  if (terms.key_table)
    scores = scores +
             by_distance(matmul(k, of_head(terms.key_table), false, true), [](int64_t /*i*/, int64_t j) { return j; });
  if (terms.pos_queries) {
    const int64_t own = terms.pos_queries.shape()[1] / options.heads;
    const Var products =
        matmul(slice(terms.pos_queries, 1, head * own, own), slice(terms.pos_keys, 1, head * own, own), false, true);
    scores = scores + pick(products, nq, nk, [&](int64_t i, int64_t j) {
               const int64_t position = i + nk - nq;
               return position < 0 ? -1 : position * products.shape()[1] + j;
             });
  }
  scores = terms.score_scale(width) * scores;
  if (terms.bias)
    scores = scores + by_distance(transpose(terms.bias), [&](int64_t /*i*/, int64_t /*j*/) { return int64_t{head}; });

  std::vector<int32_t> hidden_pairs;
  for (int64_t i = 0; i < nq; ++i)
    for (int64_t j = 0; j < nk; ++j)
      hidden_pairs.push_back(std::abs(distance(i, j)) > options.window || (options.causal && distance(i, j) > 0));
  const Tensor hidden = Tensor::from({nq, nk}, hidden_pairs);
  constexpr double kHiddenScore = -1e30;  // finite, for queries without visible keys: all their weights become 0
  Var weights = masked_fill(softmax(masked_fill(scores, hidden, kHiddenScore)), hidden, 0);
  if (keep) weights = weights * keep;
  Var out = matmul(weights, v);
  if (!terms.value_table) return out;
  const Var of_distances = pick(weights, nq, terms.value_table.shape()[0], [&](int64_t i, int64_t row) {
    const int64_t key = row - terms.zero_offset + i + nk - nq;
    return key < 0 || key >= nk ? -1 : i * nk + key;
  });
  return out + matmul(of_distances, of_head(terms.value_table));
}

// The factors of dropout of one head of one segment: AttentionShape says which element of the mask is whose.
Var composed_keep(const Var& q, int head, int segment, const Segments& queries, const Segments& keys,
                  const DropoutMask& mask) {
  const int64_t padded = (queries.longest() + 15) / 16 * 16;
  std::vector<double> factors;
  for (int64_t i = 0; i < queries.length(segment); ++i) {
    for (int64_t j = keys.begin(segment); j < keys.end(segment); ++j) {
      const int64_t element = (head * keys.tokens() + j) * padded + i;
      factors.push_back(dropout_factor(mask, element));
    }
  }
  return constant_beside(q, {queries.length(segment), keys.length(segment)}, factors);
}

// All heads of all segments: q(nq, heads * width), k and v(nk, key/value heads * width).
Var composed_attention(Var q, Var k, const Var& v, const Segments& queries, const Segments& keys,
                       const AttentionOptions& options, const DropoutMask& mask) {
  const int64_t width = q.shape()[1] / options.heads, group = q.shape()[1] / k.shape()[1];
  if (options.rotation) {
    Rope rotation = options.rotation;
    q = composed_rope(q, rotation, options.query_positions);
    rotation.shape.heads = int(options.heads / group);
    k = composed_rope(k, rotation, options.key_positions);
  }
  std::vector<Var> outputs;
  for (int s = 0; s < queries.count(); ++s) {
    const int64_t nq = queries.length(s), nk = keys.length(s);
    if (nq == 0) continue;
    if (nk == 0) {
      outputs.push_back(constant_beside(q, {nq, q.shape()[1]}, std::vector<double>(size_t(nq * q.shape()[1]))));
      continue;
    }
    const Var qs = slice(q, 0, queries.begin(s), nq), ks = slice(k, 0, keys.begin(s), nk),
              vs = slice(v, 0, keys.begin(s), nk);
    std::vector<Var> of_heads;
    for (int head = 0; head < options.heads; ++head) {
      const int64_t shared = head / group * width;
      const Var keep = mask.rate > 0 ? composed_keep(q, head, s, queries, keys, mask) : Var();
      of_heads.push_back(composed_attention(slice(qs, 1, head * width, width), slice(ks, 1, shared, width),
                                            slice(vs, 1, shared, width), head, options, keep));
    }
    outputs.push_back(concat(of_heads, 1));
  }
  return outputs.empty() ? q : concat(outputs, 0);
}

// ---- The fused op ------------------------------------------------------------------------------------------------

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
int64_t visible_pairs(const AttentionCall& call) {
  const int64_t before = call.shape.window, after = call.shape.causal ? 0 : call.shape.window;
  int64_t pairs = 0;
  for (int s = 0; s < call.queries.count(); ++s) {
    const int64_t nq = call.queries.length(s), nk = call.keys.length(s);
    pairs += pairs_up_to(after, nq, nk) - pairs_up_to(-before - 1, nq, nk);
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

double AttentionOp::flops() const { return 4 * double(visible_pairs(call)) * double(d); }

void AttentionOp::describe(OpMetadata& metadata) const {
  const AttentionShape& shape = call.shape;
  metadata.attribute("heads", shape.heads);
  if (shape.group() > 1) metadata.attribute("key/value heads", shape.key_heads());
  if (shape.causal) metadata.attribute("causal", "yes");
  if (shape.window < AttentionShape::kUnlimited) metadata.attribute("window", shape.window);
  if (shape.scale != PositionTerms().score_scale(width())) metadata.attribute("scale", shape.scale);
  if (shape.dropout.rate > 0) metadata.attribute("dropout", shape.dropout.rate);
  if (call.angles) describe_rotation(metadata, call.rope);
  metadata.attribute("segments", call.queries.count());
  metadata.save("lse", lse);
  metadata.save("angles", call.angles);
  metadata.save("positions", call.query_positions);
  metadata.save("key positions", layout == AttentionLayout::together ? Tensor() : call.key_positions);
}

void AttentionOp::backward(Backward& b) {
  AttentionGradients gradients = with_inputs(AttentionGradients(), [&](int i) { return b.dinput(i); });
  gradients.frequencies = b.dparameter(2);
  b.kernels().attention_backward(gradients, b.doutput(), b.output(), lse,
                                 with_inputs(call, [&](int i) { return b.input(i); }));
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
  const DropoutMask mask = tape.next_dropout("attention", options.dropout);
  if (!tape.fused(&Kernels::attention_op)) {
    const int64_t kd = d / options.heads * checked_key_heads(options), first_key = memory ? 0 : d;
    const Var rows = widened(memory ? memory : x);
    const Var v = values ? widened(values) : slice(rows, 1, first_key + kd, kd);
    return stored(
        composed_attention(slice(widened(x), 1, 0, d), slice(rows, 1, first_key, kd), v, queries, keys, options, mask),
        x.value().dtype());
  }
  const Rope& rotation = options.rotation;
  auto op = std::make_unique<AttentionOp>();
  op->layout = !memory  ? AttentionLayout::together
               : values ? AttentionLayout::apart
                        : AttentionLayout::keys_with_values;
  op->d = d;
  const PositionTerms& terms = options.terms;
  AttentionCall& call = op->call;
  call.queries = queries;
  call.keys = keys;
  call.shape = {.heads = options.heads,
                .kv_heads = options.kv_heads,
                .scale = terms.score_scale(d / options.heads),
                .causal = options.causal,
                .window = options.window,
                .dropout = mask};
  call.terms.zero_offset = terms.zero_offset;
  if (rotation) {
    call.rope = rotation.shape;
    call.angles = rotation.angles;
    call.query_positions = options.query_positions;
    call.key_positions = options.key_positions;
  }

  const Tensor& in = x.value();
  const Tensor out = Tensor::empty({in.dim(0), d}, in.dtype(), in.device());
  op->lse = Tensor::empty({options.heads, in.dim(0)}, statistics_dtype(in.dtype()), in.device());
  const std::initializer_list<Var> inputs{x,
                                          memory,
                                          rotation.frequencies,
                                          terms.bias,
                                          terms.query_table,
                                          terms.key_table,
                                          terms.value_table,
                                          terms.pos_queries,
                                          terms.pos_keys,
                                          values};
  x.kernels().attention(out, op->lse, op->with_inputs(call, [&](int i) { return inputs.begin()[i].value(); }));
  return tape.record(std::move(op), out, inputs);
}

}  // namespace

PositionTables PositionTerms::tables() const {
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
