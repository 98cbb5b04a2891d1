// The fused differentiable ops, which those of autograd/elementary.h complete. Each has the same order in its file in
// autograd/ops: the definition in elementary ops, formula, saved tensors, backward, forward. Shapes are in row-major
// order; n is the number of rows (tokens), d the width. Every op checks the shapes of its arguments and throws an Error
// that begins with the op's name.
#pragma once

#include <cmath>

#include "gyre/autograd/elementary.h"
#include "gyre/autograd/tape.h"

namespace gyre {

// (n,o) = x(n,d) w(o,d)^T + bias(o); bias may be an empty Var.
Var linear(const Var& x, const Var& w, const Var& bias = {});
// linear() with rows first .. first + count - 1 of w and bias, which hold several projections.
Var linear(const Var& x, const Var& w, const Var& bias, int64_t first, int64_t count);

// (n,o) = dropout(act(x(n,d) w(o,d)^T + bias(o))), in one pass: the first half of a feed-forward block. The bias may be
// an empty Var.
Var linear_activation(const Var& x, const Var& w, const Var& bias, Activation kind, double dropout = 0);

// Applies an activation function elementwise (formulas: core/kernels/arguments.h).
Var activation(const Var& x, Activation kind);
inline Var gelu(const Var& x) { return activation(x, Activation::gelu); }
// (n,f) = act(gate) * value, the gated linear unit (Shazeer 2020), x(n, 2 * f) = [gate | value]. SwiGLU with silu,
// GEGLU with gelu.
Var gated_activation(const Var& x, Activation kind);

// Inverted dropout (Srivastava et al. 2014): the identity unless the tape is in training mode and rate > 0.
Var dropout(const Var& x, double rate);
// residual + dropout(x), in one pass.
Var residual_dropout(const Var& residual, const Var& x, double rate);

// Layer normalization over the last axis (Ba et al. 2016); gamma(d), beta(d). beta may be an empty Var.
Var layer_norm(const Var& x, const Var& gamma, const Var& beta, double epsilon = 1e-5);
// RMS norm (Zhang & Sennrich 2019): gamma * x / sqrt(mean(x^2) + epsilon) over groups of as many columns as
// gamma(width) has, which divide the last axis. The groups are the whole row, or the heads of queries or keys.
Var rms_norm(const Var& x, const Var& gamma, double epsilon = 1e-5);
// layer_norm(residual + dropout(x)), in one pass.
Var residual_layer_norm(const Var& residual, const Var& x, double rate, const Var& gamma, const Var& beta,
                        double epsilon = 1e-5);

// (n,d) = factor * table(v,d)[ids], bf16 on a tape for bf16; ids: i32 (n).
Var embedding(const Var& table, const Tensor& ids, double factor = 1);
// (segments,d) = mean of the rows of each segment of x(n,d). Throws if a segment is empty.
Var segment_mean(const Var& x, const Segments& segments);

// Rotary position embedding (Su et al. 2021, eq. 34) as an argument of rope() and attention: the features of each head
// are rotated by an angle that depends on the position of their row.
struct Rope {
  RopeShape shape;
  Tensor angles;    // (positions, 2 * dims): row p for position p (Kernels::rotary_angles)
  Var frequencies;  // (dims/2); may be empty if no gradient is wanted

  explicit operator bool() const { return angles.defined(); }
  // Throws unless the rotation is made for this number of heads, fits their width and has an angle for each of the
  // positions, i32 (rows).
  void check(int64_t heads, int64_t width, const Tensor& positions, int64_t rows) const;
};
// The rotation with angles position * position_scale * frequencies(dims/2) for positions 0 .. positions - 1.
Rope make_rope(const Var& frequencies, int64_t positions, const RopeShape& shape);

// x(n, heads * width) with each row rotated by its position, i32 (n).
Var rope(const Var& x, const Rope& rotation, const Tensor& positions);

// (n, heads) = factor * x(n, heads * width) . w(heads * width), head by head. The result has the dtype of w, a
// parameter.
Var head_dot(const Var& x, const Var& w, int heads, double factor);

// The ops of linear attention (Katharopoulos et al. 2020): feature maps of queries and keys, sums of the values
// weighted by products of features, and the division by the sum of the weights.
//
// out_m = sum of (q_m . k_n) v_n over the rows n of m's segment that the direction selects, head by head:
// q, k(n, heads * features), v(n, heads * width) -> (n, heads * width). With an empty v: the sums of (q_m . k_n),
// (n, heads), in the dtype of statistics (statistics_dtype).
Var linear_attention_scan(const Var& q, const Var& k, const Var& v, const Segments& segments, int heads,
                          ScanDirection direction);
// (n, heads * width) = a(n, heads * width) / (b(n, heads) + epsilon), head by head.
Var head_divide(const Var& a, const Var& b, double epsilon);
// Softmax over the features of each head of x(n, heads * width).
Var head_softmax(const Var& x, int heads);
// (n, heads * features) = x(n, heads * width) w(features, width)^T, head by head. The result has the dtype of w, a
// parameter.
Var head_matmul(const Var& x, const Var& w, int heads);
// FAVOR+ features (Choromanski et al. 2021; core/kernels/all_kernels.inc) of x(n, heads * width), from
// products(n, heads * features), the head_matmul of x with random vectors. The exponents of a query are shifted by
// their largest. The shift of a key depends only on its own row, so that a causal model does not look ahead.
enum class FavorSide : uint8_t { queries, keys };
Var favor_features(const Var& products, const Var& x, int heads, FavorSide side);

// Relative-position terms of the scores and values of attention. PositionTables in
// core/kernels/arguments.h has shapes and formula. Every term may be empty; all have the parameters' dtype.
struct PositionTerms {
  Var bias;
  Var query_table, key_table, value_table;
  Var pos_queries, pos_keys;
  int64_t zero_offset = 0;
  double scale = 0;  // factor on the scores; 0: 1/sqrt(head width)

  PositionTables tables() const;
  double score_scale(int64_t head_width) const { return scale > 0 ? scale : 1 / std::sqrt(double(head_width)); }
};

struct AttentionOptions {
  int heads = 1;
  int kv_heads = 0;  // heads of keys and values, shared by groups of heads (AttentionShape); 0: as many as `heads`
  bool causal = false;
  int64_t window = AttentionShape::kUnlimited;      // keys with |distance| <= window are visible
  double dropout = 0;                               // rate on the attention weights, in training mode
  Rope rotation = {};                               // rotation of queries and keys
  Tensor query_positions = {}, key_positions = {};  // positions of the rows, i32: for the rotation
  PositionTerms terms = {};
};
// Scaled dot-product attention (Vaswani et al. 2017, 3.2.1) over packed segments, with d = heads * width columns of
// queries and kd = kv_heads * width columns of keys and of values:
// q(nq, d), kv(nk, 2 * kd) = [keys | values] -> (nq, d). The queries of segment i attend to the keys of segment i.
Var attention(const Var& q, const Var& kv, const Segments& queries, const Segments& keys,
              const AttentionOptions& options);
// The same with k(nk, kd) and v(nk, kd) in separate tensors.
Var attention(const Var& q, const Var& k, const Var& v, const Segments& queries, const Segments& keys,
              const AttentionOptions& options);
// Attention of qkv(n, d + 2 * kd) = [queries | keys | values] -> (n, d). The query_positions serve as key_positions.
Var self_attention(const Var& qkv, const Segments& segments, const AttentionOptions& options);

// The attention weights of one segment at a recorded node of attention() or self_attention(), recomputed without
// dropout: (heads, queries, keys), f32 on the CPU. Throws for a node of any other op.
Tensor attention_weights(const Tape& tape, int node, int segment);
// The nodes of softmax attention from node `begin` on, in the order of the calls.
std::vector<int> attention_nodes(const Tape& tape, size_t begin = 0);

// Intermediate tensors of softmax attention for one segment, recomputed for inspection tools: f32 on the CPU. Backward
// needs none of them.
struct AttentionParts {
  Tensor q, k, v;          // (rows of the segment, heads * width), q and k rotated
  Tensor position_scores;  // (heads, queries, keys): what the position terms add to the scores; undefined without them
  Tensor scores;           // (heads, queries, keys), -infinity for keys that are not visible
  Tensor keep;             // (heads, queries, keys): the factors of dropout; undefined without it
  Tensor query_angles, key_angles;  // (rows, dims/2) of the rotation, from -pi to pi; undefined without it
};
// Computes them for a recorded node of attention() or self_attention(). Throws for a node of any other op.
AttentionParts attention_parts(const Tape& tape, int node, int segment);

// The angles, from -pi to pi, by which a recorded node of rope() rotates: (rows, dims/2), f32 on the CPU.
Tensor rope_angles(const Tape& tape, int node);
// The angles of rows with these positions. angles: as in Rope.
Tensor rope_angles(const Tensor& angles, const Tensor& positions, const RopeShape& shape);
// Adds the shape of a rotation to the attributes of an op.
void describe_rotation(OpMetadata& metadata, const RopeShape& shape);

// A loss summed over rows, and the sums from which metrics are computed.
struct LossResult {
  Var loss;                 // f64 (1)
  Tensor totals;            // f64 (4), on the device of the loss: the fields of CrossEntropySums, in order
  int64_t predictions = 0;  // CrossEntropySums::tokens, known without waiting for a GPU
  CrossEntropySums sums() const { return sums_from(totals.to_cpu()); }  // waits for a GPU
};
// Cross-entropy of logits(n,v) with targets, i32 (n), with label smoothing and z-loss (Kernels::cross_entropy). Rows
// with a negative target are ignored.
LossResult cross_entropy(const Var& logits, const Tensor& targets, const CrossEntropyOptions& options = {});

// cross_entropy() of logits = x(n,d) w(v,d)^T + bias(v), computed in chunks of rows, so that the logits of the whole
// batch are never in memory at once. The bias may be an empty Var.
LossResult linear_cross_entropy(const Var& x, const Var& w, const Var& bias, const Tensor& targets,
                                const CrossEntropyOptions& options = {});

// Logits of the first rows of a recorded linear_cross_entropy() with their gradient, recomputed for inspection tools.
// Throws for a node of any other op, and unless 1 <= rows <= n.
struct CrossEntropyParts {
  Tensor logits, dlogits;  // (rows, v) in the dtype of statistics, on the tape's device; dlogits for dloss = 1
};
CrossEntropyParts cross_entropy_parts(const Tape& tape, int node, int64_t rows);

// The loss of R-Drop (Liang et al. 2021) of logits = x(2n,d) w(v,d)^T + bias(v), also computed in chunks: rows i and
// n + i of x belong to the same token in two passes with different dropout masks, which has target i of targets(n).
//   loss = the mean of both cross-entropies + alpha / 4 * (KL(p || q) + KL(q || p)),  p, q: softmax of the two logits
// This is half of the paper's equation 3, so that its value is comparable to cross_entropy(). `predictions` counts each
// pair of rows once. In the totals, nll is the mean of both passes, and correct refers to the first pass.
LossResult linear_r_drop(const Var& x, const Var& w, const Var& bias, const Tensor& targets, double smoothing,
                         double alpha);

// Sum of (prediction - target)^2; predictions (n) or (n,1), targets f32 (n) on the CPU.
LossResult squared_error(const Var& predictions, const Tensor& targets);

// Sum over pairs of scores(2n) or (2n,1) of max(0, margin - a + b), where a is row 2i and b is row 2i + 1: the hinge
// loss of ranking (Herbrich et al. 2000). In the totals, tokens is n, and a pair is correct if a > b.
LossResult margin_loss(const Var& scores, double margin);

// Sum of the binary cross-entropy of logits(n,1) with labels, i32 (n), 1 or 0: -log sigmoid(logit) for label 1 and
// -log sigmoid(-logit) for label 0. Rows with a negative label are ignored. Composed of the cross_entropy() of the
// logits (0, logit), whose loss is identical. Throws Error for labels above 1 and for other shapes.
LossResult binary_cross_entropy(const Var& logits, const Tensor& labels);

}  // namespace gyre
