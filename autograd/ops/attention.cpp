#include <algorithm>
#include <cmath>

#include "autograd/ops.h"

namespace gyre {
namespace {

// Pairs of a query and a key that it sees.
int64_t visible_pairs(const Segments& queries, const Segments& keys, bool causal) {
  int64_t pairs = 0;
  for (int i = 0; i < queries.count(); ++i) {
    const int64_t nq = queries.length(i), nk = keys.length(i);
    const int64_t square = std::min(nq, nk);  // where it is causal, each row sees one key more than the row before
    pairs += causal ? square * (square + 1) / 2 + nq * std::max<int64_t>(0, nk - nq) : nq * nk;
  }
  return pairs;
}

// Queries, keys and values of d features: columns of two tensors, q and [k | v], or of one, [q | k | v].
struct Projections {
  HeadColumns q, k, v;
  Projections(const Tensor& q, const Tensor& kv, int64_t d) : q{q}, k{kv}, v{kv, d} {}
  Projections(const Tensor& qkv, int64_t d) : q{qkv}, k{qkv, d}, v{qkv, 2 * d} {}
};

// Per segment and head, q and k turned by the rotation: out = P v, P = dropout(softmax(S)), S = scale q k^T over the
// visible keys.
//   dv = P^T dout;  dP = dropout(dout v^T);  dS = P * (dP - rowsum(P * dP));  dq = scale dS k;  dk = scale dS^T q
// No matrix of scores is kept: backward computes P again from the log-sum-exp of each row.
// Inputs: q and [k | v], or [q | k | v] and nothing; the rotation's frequencies.
struct Attention final : Op {
  bool self = false;
  Tensor lse;  // saved: one number per head and query
  Segments queries, keys;
  AttentionShape shape;
  AttentionRotation rotation;
  int64_t d = 0;
  std::string_view name() const override { return "attention"; }
  double flops() const override { return 4 * double(visible_pairs(queries, keys, shape.causal)) * double(d); }
  void backward(Backward& b) override {
    const Projections in = self ? Projections(b.input(0), d) : Projections(b.input(0), b.input(1), d);
    const Projections din = self ? Projections(b.dinput(0), d) : Projections(b.dinput(0), b.dinput(1), d);
    b.kernels().attention_backward(din.q, din.k, din.v, b.dparameter(2), b.doutput(), in.q, in.k, in.v, lse, queries,
                                   keys, shape, rotation);
  }
};

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
  op->shape = {options.heads, 1 / std::sqrt(double(d / options.heads)), options.causal, {}};
  if (options.dropout > 0 && tape.training()) op->shape.dropout = tape.next_dropout(options.dropout);
  if (rotation) op->rotation = {rotation.rotary, rotation.angles, options.query_positions, options.key_positions};

  const Tensor& in = x.value();
  const Tensor out = Tensor::empty({in.dim(0), d}, in.dtype(), in.device());
  const DType statistics = in.dtype() == DType::bf16 ? DType::f32 : in.dtype();
  op->lse = Tensor::empty({options.heads, in.dim(0)}, statistics, in.device());
  const Projections columns = kv ? Projections(in, kv.value(), d) : Projections(in, d);
  x.kernels().attention(out, op->lse, columns.q, columns.k, columns.v, queries, keys, op->shape, op->rotation);
  const Var none = tape.constant({});
  return tape.record(std::move(op), out, {x, kv ? kv : none, rotation.frequencies ? rotation.frequencies : none});
}

}  // namespace

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
