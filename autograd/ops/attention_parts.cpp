// Recomputes intermediate tensors of attention for inspection tools.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "gyre/autograd/ops/attention_op.h"
#include "gyre/autograd/ops/rotation_details.h"

namespace gyre {
namespace {

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

// One segment of a recorded op.
struct AttentionSegment {
  Kernels& kernels;
  const AttentionOp& op;
  const std::vector<Tensor>& inputs;
  int number;

  AttentionSegment(const Tape& tape, int node, int segment)
      : kernels(tape.kernels()),
        op(checked(tape.nodes().at(size_t(node)))),
        inputs(tape.nodes()[size_t(node)].input_values),
        number(segment) {
    require(segment >= 0 && segment < op.queries.count(), "[attention inspection] expected a segment below ",
            op.queries.count(), ", got ", segment);
  }
  static const AttentionOp& checked(const Node& node) {
    const auto* op = dynamic_cast<const AttentionOp*>(node.op.get());
    require(op != nullptr, "[attention inspection] expected a node of softmax attention, got ", node.name());
    return *op;
  }

  int64_t heads() const { return op.shape.heads; }
  int64_t queries() const { return op.queries.length(number); }
  int64_t keys() const { return op.keys.length(number); }
  // The distance of a key from a query.
  int64_t distance(int64_t i, int64_t j) const { return j - (i + keys() - queries()); }
  bool visible(int64_t i, int64_t j) const {
    const int64_t t = distance(i, j);
    return std::abs(t) <= op.shape.window && (t <= 0 || !op.shape.causal);
  }
  AttentionProjections projections() const {
    AttentionProjections all = op.projections([&](int i) { return inputs[size_t(i)]; });
    all.q.rows = rows_of(all.q.rows, op.queries, number);
    all.k.rows = rows_of(all.k.rows, op.keys, number);
    all.v.rows = rows_of(all.v.rows, op.keys, number);
    return all;
  }
  AttentionPositionTerms terms() const {
    return op.terms_of([&](int i) { return inputs[size_t(i)]; });
  }
  AttentionRope rotation() const {
    const AttentionRope& all = op.rotation;
    return {all.rotary, all.angles, rows_of(all.query_positions, op.queries, number),
            rows_of(all.key_positions, op.keys, number)};
  }
  // The matrix (heads, queries, keys) of rule(head, query, key).
  template <class Rule>
  Tensor pairs(const Rule& rule) const {
    Tensor matrix = Tensor::empty({heads(), queries(), keys()});
    float* next = matrix.data<float>();
    for (int64_t h = 0; h < heads(); ++h)
      for (int64_t i = 0; i < queries(); ++i)
        for (int64_t j = 0; j < keys(); ++j) *next++ = float(rule(h, i, j));
    return matrix;
  }
};

// The columns of some heads as a tensor of their own, f32 on the CPU.
Tensor own_columns(const HeadColumns& all, int64_t columns) {
  const Tensor rows = all.rows.to_cpu().to(DType::f32);
  Tensor own = Tensor::empty({rows.rows(), columns});
  for (int64_t i = 0; i < rows.rows(); ++i)
    std::copy_n(rows.data<float>() + i * rows.cols() + all.first, columns, own.data<float>() + i * columns);
  return own;
}

Tensor rotated(Kernels& kernels, const Tensor& x, const Tensor& positions, const AttentionRope& rotation, int64_t heads,
               int64_t width) {
  if (!rotation.angles) return x;
  RopeShape rotary = rotation.rotary;
  rotary.heads = int(heads);
  const Tensor y = x.to(kernels.device()).clone();
  const Tensor angles = rotation.angles.to_cpu().to(DType::f32).to(kernels.device());
  kernels.rope({y}, {y}, positions, angles, rotary, width, false);
  return y.to_cpu();
}

// The dot product of `width` elements.
double dot(const Tensor& a, int64_t first_a, const Tensor& b, int64_t first_b, int64_t width) {
  double sum = 0;
  for (int64_t f = 0; f < width; ++f) sum += double(a.data<float>()[first_a + f]) * b.data<float>()[first_b + f];
  return sum;
}

Tensor as_f32(const Tensor& t) { return t ? t.to_cpu().to(DType::f32) : t; }

// See AttentionPositionTerms for the formula.
Tensor position_scores_of(const AttentionSegment& s, const Tensor& q, const Tensor& k) {
  const AttentionPositionTerms terms = s.terms();
  if (!terms.bias && !terms.query_table && !terms.key_table && !terms.pos_queries) return {};
  const Tensor bias = as_f32(terms.bias), query_table = as_f32(terms.query_table), key_table = as_f32(terms.key_table),
               pos_q = as_f32(terms.pos_queries), pos_k = as_f32(terms.pos_keys);
  const int64_t width = s.op.width(), group = s.op.shape.group();
  const auto table_row = [&](const Tensor& table, int64_t row, int64_t head) {
    return row * table.cols() + (table.cols() == width ? 0 : head * width);
  };
  return s.pairs([&](int64_t h, int64_t i, int64_t j) {
    if (!s.visible(i, j)) return 0.0;
    const int64_t row = terms.zero_offset + s.distance(i, j), position = i + s.keys() - s.queries();
    double products = 0;
    if (query_table) products += dot(q, i * q.cols() + h * width, query_table, table_row(query_table, row, h), width);
    if (key_table) products += dot(k, j * k.cols() + h / group * width, key_table, table_row(key_table, row, h), width);
    if (pos_q) {
      const int64_t own = pos_q.cols() / s.heads();
      products += dot(pos_q, position * pos_q.cols() + h * own, pos_k, j * pos_k.cols() + h * own, own);
    }
    return s.op.shape.scale * products + (bias ? double(bias.data<float>()[row * s.heads() + h]) : 0.0);
  });
}

Tensor scores_of(const AttentionSegment& s, const Tensor& q, const Tensor& k, const Tensor& position_scores) {
  const int64_t width = s.op.width(), group = s.op.shape.group();
  return s.pairs([&](int64_t h, int64_t i, int64_t j) {
    if (!s.visible(i, j)) return -std::numeric_limits<double>::infinity();
    const double product = dot(q, i * q.cols() + h * width, k, j * k.cols() + h / group * width, width);
    const int64_t pair = (h * s.queries() + i) * s.keys() + j;
    return s.op.shape.scale * product + (position_scores ? double(position_scores.data<float>()[pair]) : 0.0);
  });
}

// AttentionShape tells which element of the mask belongs to a weight.
Tensor keep_of(const AttentionSegment& s) {
  const AttentionOp& op = s.op;
  if (op.shape.dropout.rate == 0) return {};
  constexpr int64_t kMultiple = 16;
  const int64_t key_rows = op.keys.tokens(), padded = (op.queries.longest() + kMultiple - 1) / kMultiple * kMultiple;
  Tensor ones = Tensor::empty({s.heads() * key_rows, padded});
  std::fill_n(ones.data<float>(), ones.size(), 1.0F);
  ones = ones.to(s.kernels.device());
  s.kernels.dropout(ones, ones, {}, op.shape.dropout);
  const Tensor factors = ones.to_cpu();
  return s.pairs([&](int64_t h, int64_t i, int64_t j) {
    return factors.data<float>()[(h * key_rows + op.keys.begin(s.number) + j) * padded + i];
  });
}

}  // namespace

// The output of attention is P if the values are the columns of the identity matrix.
Tensor attention_weights(const Tape& tape, int node, int segment) {
  const AttentionSegment s(tape, node, segment);
  const AttentionProjections in = s.projections();
  AttentionPositionTerms terms = s.terms();
  terms.value_table = {};
  AttentionShape plain = s.op.shape;
  plain.dropout = {};
  const Segments one_q = Segments::from_lengths({int32_t(s.queries())}),
                 one_k = Segments::from_lengths({int32_t(s.keys())});
  const int64_t width = s.op.width();
  Tensor weights = Tensor::empty({s.heads(), s.queries(), s.keys()});
  const Tensor out = Tensor::empty({s.queries(), s.op.d}, in.q.rows.dtype(), in.q.rows.device());
  for (int64_t first = 0; first < s.keys(); first += width) {
    const Tensor columns = identity_columns(s.keys(), first, plain.key_heads(), width);
    const Tensor v = columns.to(out.dtype()).to(out.device());
    s.kernels.attention(out, {}, in.q, in.k, {v}, one_q, one_k, plain, s.rotation(), terms);
    store_columns(weights, out.to_cpu().to(DType::f32), first);
  }
  return weights;
}

AttentionParts attention_parts(const Tape& tape, int node, int segment) {
  const AttentionSegment s(tape, node, segment);
  const AttentionProjections in = s.projections();
  const AttentionRope rotation = s.rotation();
  const int64_t width = s.op.width(), key_heads = s.op.shape.key_heads();
  AttentionParts parts;
  parts.q = rotated(s.kernels, own_columns(in.q, s.op.d), rotation.query_positions, rotation, s.heads(), width);
  parts.k =
      rotated(s.kernels, own_columns(in.k, key_heads * width), rotation.key_positions, rotation, key_heads, width);
  parts.v = own_columns(in.v, key_heads * width);
  parts.position_scores = position_scores_of(s, parts.q, parts.k);
  parts.scores = scores_of(s, parts.q, parts.k, parts.position_scores);
  parts.keep = keep_of(s);
  if (!rotation.angles) return parts;
  parts.query_angles = rotation_angles(rotation.angles, rotation.query_positions, rotation.rotary);
  parts.key_angles = rotation_angles(rotation.angles, rotation.key_positions, rotation.rotary);
  return parts;
}

}  // namespace gyre
