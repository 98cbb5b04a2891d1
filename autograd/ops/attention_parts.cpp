// Recomputes intermediate tensors of attention for inspection tools.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "gyre/autograd/ops/attention_op.h"

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
    require(segment >= 0 && segment < op.call.queries.count(), "[attention inspection] expected a segment below ",
            op.call.queries.count(), ", got ", segment);
  }
  static const AttentionOp& checked(const Node& node) {
    const auto* op = dynamic_cast<const AttentionOp*>(node.op.get());
    require(op != nullptr, "[attention inspection] expected a node of softmax attention, got ", node.name());
    return *op;
  }

  int64_t heads() const { return op.call.shape.heads; }
  int64_t queries() const { return op.call.queries.length(number); }
  int64_t keys() const { return op.call.keys.length(number); }
  // The distance of a key from a query.
  int64_t distance(int64_t i, int64_t j) const { return j - (i + keys() - queries()); }
  bool visible(int64_t i, int64_t j) const {
    const int64_t t = distance(i, j);
    return std::abs(t) <= op.call.shape.window && (t <= 0 || !op.call.shape.causal);
  }
  // The call of this segment alone, without dropout.
  AttentionCall call() const {
    AttentionCall one = op.with_inputs(op.call, [&](int i) { return inputs[size_t(i)]; });
    for (Tensor* rows : {&one.q.rows, &one.query_positions}) *rows = rows_of(*rows, op.call.queries, number);
    for (Tensor* rows : {&one.k.rows, &one.v.rows, &one.key_positions}) *rows = rows_of(*rows, op.call.keys, number);
    one.queries = Segments::from_lengths({int32_t(queries())});
    one.keys = Segments::from_lengths({int32_t(keys())});
    one.shape.dropout = {};
    return one;
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

Tensor rotated(Kernels& kernels, const AttentionCall& call, const Tensor& x, const Tensor& positions, int heads) {
  if (!call.angles) return x;
  RopeShape rope = call.rope;
  rope.heads = heads;
  const Tensor y = x.to(kernels.device()).clone();
  const Tensor angles = call.angles.to_cpu().to(DType::f32).to(kernels.device());
  kernels.rope({y}, {y}, positions, angles, rope, x.cols() / heads, false);
  return y.to_cpu();
}

// The dot product of `width` elements.
double dot(const Tensor& a, int64_t first_a, const Tensor& b, int64_t first_b, int64_t width) {
  double sum = 0;
  for (int64_t f = 0; f < width; ++f) sum += double(a.data<float>()[first_a + f]) * b.data<float>()[first_b + f];
  return sum;
}

Tensor as_f32(const Tensor& t) { return t ? t.to_cpu().to(DType::f32) : t; }

// See PositionTables for the formula.
Tensor position_scores_of(const AttentionSegment& s, const PositionTables& terms, const Tensor& q, const Tensor& k) {
  if (!terms.bias && !terms.query_table && !terms.key_table && !terms.pos_queries) return {};
  const Tensor bias = as_f32(terms.bias), query_table = as_f32(terms.query_table), key_table = as_f32(terms.key_table),
               pos_q = as_f32(terms.pos_queries), pos_k = as_f32(terms.pos_keys);
  const int64_t width = s.op.width(), group = s.op.call.shape.group();
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
    return s.op.call.shape.scale * products + (bias ? double(bias.data<float>()[row * s.heads() + h]) : 0.0);
  });
}

Tensor scores_of(const AttentionSegment& s, const Tensor& q, const Tensor& k, const Tensor& position_scores) {
  const int64_t width = s.op.width(), group = s.op.call.shape.group();
  return s.pairs([&](int64_t h, int64_t i, int64_t j) {
    if (!s.visible(i, j)) return -std::numeric_limits<double>::infinity();
    const double product = dot(q, i * q.cols() + h * width, k, j * k.cols() + h / group * width, width);
    const int64_t pair = (h * s.queries() + i) * s.keys() + j;
    return s.op.call.shape.scale * product + (position_scores ? double(position_scores.data<float>()[pair]) : 0.0);
  });
}

// AttentionShape tells which element of the mask belongs to a weight.
Tensor keep_of(const AttentionSegment& s) {
  const AttentionCall& call = s.op.call;
  if (call.shape.dropout.rate == 0) return {};
  constexpr int64_t kMultiple = 16;
  const int64_t key_rows = call.keys.tokens();
  const int64_t padded = (call.queries.longest() + kMultiple - 1) / kMultiple * kMultiple;
  Tensor ones = Tensor::empty({s.heads() * key_rows, padded});
  std::fill_n(ones.data<float>(), ones.size(), 1.0F);
  ones = ones.to(s.kernels.device());
  s.kernels.dropout(ones, ones, {}, call.shape.dropout);
  const Tensor factors = ones.to_cpu();
  return s.pairs([&](int64_t h, int64_t i, int64_t j) {
    return factors.data<float>()[(h * key_rows + call.keys.begin(s.number) + j) * padded + i];
  });
}

}  // namespace

std::vector<int> attention_nodes(const Tape& tape, size_t begin) {
  std::vector<int> found;
  for (size_t node = begin; node < tape.nodes().size(); ++node) {
    if (tape.nodes()[node].name() == "attention") found.push_back(int(node));
  }
  return found;
}

// The output of attention is P if the values are the columns of the identity matrix.
Tensor attention_weights(const Tape& tape, int node, int segment) {
  const AttentionSegment s(tape, node, segment);
  AttentionCall call = s.call();
  call.terms.value_table = {};
  const int64_t width = s.op.width();
  Tensor weights = Tensor::empty({s.heads(), s.queries(), s.keys()});
  const Tensor out = Tensor::empty({s.queries(), s.op.d}, call.q.rows.dtype(), call.q.rows.device());
  for (int64_t first = 0; first < s.keys(); first += width) {
    const Tensor columns = identity_columns(s.keys(), first, call.shape.key_heads(), width);
    call.v = {columns.to(out.dtype()).to(out.device())};
    s.kernels.attention(out, {}, call);
    store_columns(weights, out.to_cpu().to(DType::f32), first);
  }
  return weights;
}

AttentionParts attention_parts(const Tape& tape, int node, int segment) {
  const AttentionSegment s(tape, node, segment);
  const AttentionCall call = s.call();
  const int key_heads = call.shape.key_heads();
  const int64_t key_columns = key_heads * s.op.width();
  AttentionParts parts;
  parts.q = rotated(s.kernels, call, own_columns(call.q, s.op.d), call.query_positions, call.shape.heads);
  parts.k = rotated(s.kernels, call, own_columns(call.k, key_columns), call.key_positions, key_heads);
  parts.v = own_columns(call.v, key_columns);
  parts.position_scores = position_scores_of(s, call.terms, parts.q, parts.k);
  parts.scores = scores_of(s, parts.q, parts.k, parts.position_scores);
  parts.keep = keep_of(s);
  if (!call.angles) return parts;
  parts.query_angles = rope_angles(call.angles, call.query_positions, call.rope);
  parts.key_angles = rope_angles(call.angles, call.key_positions, call.rope);
  return parts;
}

}  // namespace gyre
