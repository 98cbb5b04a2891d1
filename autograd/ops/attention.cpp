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

// Per segment and head: out = P v, P = dropout(softmax(S)), S = scale q k^T over the visible keys.
//   dv = P^T dout;  dP = dropout(dout v^T);  dS = P * (dP - rowsum(dout * out));  dq = scale dS k;  dk = scale dS^T q
// No matrix of scores is kept: backward computes P again from the log-sum-exp of each row.
struct Attention final : Op {
  Tensor lse;  // saved: one number per head and query
  Segments queries, keys;
  AttentionShape shape;
  int64_t width = 0;  // of all heads
  std::string_view name() const override { return "attention"; }
  double flops() const override { return 4 * double(visible_pairs(queries, keys, shape.causal)) * double(width); }
  void backward(Backward& b) override {
    const Tensor dq = b.dinput(0), dk = b.dinput(1), dv = b.dinput(2);
    b.kernels().attention_backward(dq, dk, dv, b.doutput(), b.input(0), b.input(1), b.input(2), b.output(), lse,
                                   queries, keys, shape);
  }
};

void check(const Var& q, const Var& k, const Var& v, const Segments& queries, const Segments& keys,
           const AttentionOptions& options) {
  const int heads = options.heads;
  require(options.dropout >= 0 && options.dropout < 1, "[attention] the rate must be at least 0 and below 1, got ",
          options.dropout);
  require(heads > 0 && q.shape()[1] % heads == 0, "[attention] the width ", q.shape()[1], " must be a multiple of the ",
          heads, " heads");
  require(k.shape() == v.shape() && k.shape()[1] == q.shape()[1],
          "[attention] q, k and v must have the same width, got ", q.shape().text(), ", ", k.shape().text(), ", ",
          v.shape().text());
  require(queries.count() == keys.count(), "[attention] expected as many segments of keys as of queries, ",
          queries.count(), ", got ", keys.count());
  require(queries.tokens() == q.shape()[0] && keys.tokens() == k.shape()[0], "[attention] the segments cover ",
          queries.tokens(), " queries and ", keys.tokens(), " keys, got ", q.shape()[0], " and ", k.shape()[0]);
}

}  // namespace

Var attention(const Var& q, const Var& k, const Var& v, const Segments& queries, const Segments& keys,
              const AttentionOptions& options) {
  check(q, k, v, queries, keys, options);
  auto op = std::make_unique<Attention>();
  op->queries = queries;
  op->keys = keys;
  op->width = q.shape()[1];
  op->shape = {options.heads, 1 / std::sqrt(double(q.shape()[1] / options.heads)), options.causal, {}};
  if (options.dropout > 0 && q.tape().training()) op->shape.dropout = q.tape().next_dropout(options.dropout);
  const Tensor out = q.value().like();
  op->lse = Tensor::empty({options.heads, q.shape()[0]}, out.dtype(), out.device());
  q.kernels().attention(out, op->lse, q.value(), k.value(), v.value(), queries, keys, op->shape);
  return q.tape().record(std::move(op), out, {q, k, v});
}

}  // namespace gyre
