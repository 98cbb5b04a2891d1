// The differentiable ops. Each is written in autograd/ops/<name>.cpp: formula, what is saved, backward, forward.
// n rows of tokens, d the width; shapes in row-major order. Every op checks its shapes and names itself in the error.
#pragma once

#include <cmath>

#include "autograd/tape.h"

namespace gyre {

// (n,o) = x(n,d) w(o,d)^T + bias(o); bias may be an empty Var.
Var linear(const Var& x, const Var& w, const Var& bias = {});
// The same with rows first .. first + count - 1 of w and bias: one of several projections that lie in them.
Var linear(const Var& x, const Var& w, const Var& bias, int64_t first, int64_t count);

// dropout(act(x(n,d) w(o,d)^T + bias(o))), in one pass: the first half of a feed-forward block.
Var linear_activation(const Var& x, const Var& w, const Var& bias, Activation kind, double dropout = 0);

// Same shapes.
Var add(const Var& a, const Var& b);
Var scale(const Var& x, double factor);

Var activation(const Var& x, Activation kind);
inline Var relu(const Var& x) { return activation(x, Activation::relu); }
inline Var gelu(const Var& x) { return activation(x, Activation::gelu); }

// Identity unless the tape trains and rate > 0 (Srivastava et al. 2014, inverted).
Var dropout(const Var& x, double rate);
// residual + dropout(x), in one pass.
Var residual_dropout(const Var& residual, const Var& x, double rate);

// Over the last axis (Ba et al. 2016); gamma, beta(d).
Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double epsilon = 1e-5);
// layer_norm(residual + dropout(x)), in one pass.
Var residual_layer_norm(const Var& residual, const Var& x, double rate, const Var& gamma, const Var& beta,
                        double epsilon = 1e-5);

// (n,d) = factor * table(v,d)[ids]; ids: i32 (n).
Var embedding(const Var& table, const Tensor& ids, double factor = 1);
// The same in the type of the table, where a tape's data is bf16: what the tables of a position encoding are made from.
Var table_rows(const Var& table, const Tensor& ids);
// Rows of x: (n,d) = x(m,d)[rows]; rows: i32 (n), any of them any number of times.
inline Var gather_rows(const Var& x, const Tensor& rows) { return embedding(x, rows); }

// A rotation of the features of each head by the position of their row (Su et al. 2021, eq. 34), as data for rope() and
// attention.
struct Rotation {
  Rotary rotary;
  Tensor angles;    // of the positions 0, 1, ..: Kernels::rotary_angles
  Var frequencies;  // (dims/2) where their gradient is wanted

  explicit operator bool() const { return angles.defined(); }
  // Throws unless it turns these heads and has angles for all positions, i32 (rows).
  void check(int64_t heads, int64_t width, const Tensor& positions, int64_t rows) const;
};
// Angles position * step * frequencies(dims/2) of the first `positions`.
Rotation make_rotation(const Var& frequencies, int64_t positions, const Rotary& rotary);

// x(n, heads * width), each row turned by its position, i32 (n).
Var rope(const Var& x, const Rotation& rotation, const Tensor& positions);

// (n, heads) = factor * x(n, heads * width) . w(heads * width), head by head; in the type of w, a parameter.
Var head_dots(const Var& x, const Var& w, int heads, double factor);

// Linear attention (Katharopoulos et al. 2020) is made of the following: features of queries and keys, sums of the
// values weighed by their products, and a quotient.
//
// out_m = sum of (q_m . k_n) v_n over rows n of the segment, head by head: q, k(n, heads * features), v(n, heads *
// width) -> (n, heads * width). Without v: the sum of (q_m . k_n), (n, heads), in the type of statistics.
Var linear_sums(const Var& q, const Var& k, const Var& v, const Segments& segments, int heads, SumDirection direction);
// a(n, heads * width) / (b(n, heads) + epsilon), head by head.
Var head_quotients(const Var& a, const Var& b, double epsilon);
// Over the features of each head of x(n, heads * width).
Var head_softmax(const Var& x, int heads);
// (n, heads * features) = x(n, heads * width) w(features, width)^T, head by head; in the type of w, a parameter.
Var head_products(const Var& x, const Var& w, int heads);
// FAVOR+ features (core/kernels.h) of x(n, heads * width) from its head_products with random vectors. Queries are
// shifted by their largest exponent; keys are not shifted by anything that depends on other rows, so that a causal
// model does not look ahead.
enum class FavorSide : uint8_t { queries, keys };
Var favor_features(const Var& products, const Var& x, int heads, FavorSide side);

// What order adds to the scores and the values of attention (core/kernels.h, AttentionTerms); empty Vars add nothing.
// They are in the type of parameters.
struct DistanceTerms {
  Var bias;
  Var query_table, key_table, value_table;
  Var query_places, key_places;
  int64_t zero = 0;
  double scale = 0;  // on the scores; 0: 1/sqrt(head width)

  AttentionTerms values() const;
  double score_scale(int64_t head_width) const { return scale > 0 ? scale : 1 / std::sqrt(double(head_width)); }
};

struct AttentionOptions {
  int heads = 1;
  bool causal = false;
  int64_t reach = AttentionShape::kFar;             // keys with |distance| <= reach are seen
  double dropout = 0;                               // rate, on the weights, where the tape trains
  Rotation rotation = {};                           // of queries and keys
  Tensor query_positions = {}, key_positions = {};  // for the rotation, i32, of each row
  DistanceTerms terms = {};
};
// Scaled dot-product attention (Vaswani et al. 2017, 3.2.1) over packed segments, d = heads * width features:
// q(nq, d), kv(nk, 2 * d) = [keys | values] -> (nq, d).
Var attention(const Var& q, const Var& kv, const Segments& queries, const Segments& keys,
              const AttentionOptions& options);
// qkv(n, 3 * d) = [queries | keys | values] -> (n, d); key_positions are the query_positions.
Var self_attention(const Var& qkv, const Segments& segments, const AttentionOptions& options);

// What a recorded node of these weighed the values of a segment with, computed once more and without dropout:
// (heads, queries, keys), f32 on the CPU. Another node throws.
Tensor attention_weights(const Tape& tape, int node, int segment);

// A loss summed over rows: a scalar (1), and what metrics are made of.
struct LossResult {
  Var loss;
  CrossEntropySums sums;
};
// Label-smoothed cross-entropy of the rows with target >= 0; logits(n,v), targets i32 (n).
LossResult cross_entropy(const Var& logits, const Tensor& targets, double smoothing);

// The same for logits = x(n,d) w(v,d)^T + bias(v), in chunks of rows: the logits of a whole batch never exist. The bias
// may be missing (a default Var).
LossResult linear_cross_entropy(const Var& x, const Var& w, const Var& bias, const Tensor& targets, double smoothing);

// (prediction - target)^2; predictions (n) or (n,1), targets f32 (n) on the CPU.
LossResult squared_error(const Var& predictions, const Tensor& targets);

}  // namespace gyre
