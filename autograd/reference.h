// The ops of autograd/ops.h once more, the obvious way: composed of six basic ones, in plain loops over doubles. They
// are the oracle of the tests, and the place to read first: nothing here is fast, fused or saved.
//
// A Graph is a list of nodes in the order of their creation, and each node knows how to hand its gradient to the nodes
// it was made from. Walking the list from its end is reverse-mode differentiation (Linnainmaa 1970); the Tape is the
// same idea. Only the basic ops below have a backward written by hand.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "core/kernels.h"

namespace gyre::reference {

// Row-major.
struct Matrix {
  int64_t rows = 0, cols = 0;
  std::vector<double> data;
  Matrix() = default;
  Matrix(int64_t rows, int64_t cols, double fill = 0)
      : rows(rows), cols(cols), data(size_t(rows) * size_t(cols), fill) {}
  int64_t size() const { return rows * cols; }
  double& operator()(int64_t i, int64_t j) { return data[size_t(i * cols + j)]; }
  double operator()(int64_t i, int64_t j) const { return data[size_t(i * cols + j)]; }
};

struct Node {
  Matrix value, gradient;
  std::function<void(const Matrix& dy)> backward;  // adds to the gradients of the inputs
};

class Graph;

// A node of a graph.
struct Value {
  Graph* graph = nullptr;
  Node* node = nullptr;
  const Matrix& value() const { return node->value; }
  const Matrix& gradient() const { return node->gradient; }
  explicit operator bool() const { return node != nullptr; }
  int64_t rows() const { return node->value.rows; }
  int64_t cols() const { return node->value.cols; }
};

class Graph {
 public:
  // fp32: no rounding at all. bf16: product() and stored() round, where an op of a bf16 tape does by its definition.
  explicit Graph(Precision precision = Precision::fp32) : precision_(precision) {}
  Precision precision() const { return precision_; }

  // A leaf, or a constant: the difference is whether somebody reads its gradient.
  Value input(Matrix value) { return record(std::move(value), {}); }
  Value record(Matrix value, std::function<void(const Matrix& dy)> backward);
  // gradient of every node = d(output)/d(node), contracted with the cotangent.
  void backward(const Value& output, const Matrix& cotangent);

 private:
  Precision precision_;
  std::deque<Node> nodes_;  // a deque: addresses stay valid
};

// The basic ops.
Value matmul(const Value& a, const Value& b);
Value transpose(const Value& a);
Value operator+(const Value& a, const Value& b);  // same shapes
Value operator*(const Value& a, const Value& b);  // element by element, same shapes
// f of every element; `derivative` is f'.
Value map(const Value& a, double (*f)(double), double (*derivative)(double));
// Element i of the result (rows, cols) is element index[i] of a, or 0 where index[i] < 0. Picks, slices, permutes,
// pads.
Value gather(const Value& a, int64_t rows, int64_t cols, std::vector<int64_t> index);

// a b^T whose operands, in backward dy among them, are rounded first on a bf16 graph.
Value product(const Value& a, const Value& b);
// x as one op stores it for the next: on a bf16 graph the value and its gradient are rounded.
Value stored(const Value& x);

// Columns first, first + 1, .. of a.
Value columns(const Value& a, int64_t first, int64_t count);

// The ops. Vectors (bias, gamma, frequencies) are one row. Formulas and arguments: autograd/ops.h, core/kernels.h.
Value linear(const Value& x, const Value& w);
Value linear(const Value& x, const Value& w, const Value& bias);
Value scale(const Value& x, double factor);
Value activation(const Value& x, Activation kind);
Value dropout(const Value& x, const DropoutMask& mask);
Value layer_norm(const Value& x, const Value& gamma, const Value& beta, double epsilon);
Value embedding(const Value& table, const std::vector<int32_t>& ids, double factor);
Value rope(const Value& x, const Value& frequencies, const std::vector<int32_t>& positions, const Rotary& rotary);
// dropout(head, query of its segment, key row): the number that multiplies one attention weight: 0, or 1 / (1 - rate).
using WeightFactor = std::function<double(int head, int64_t query, int64_t key_row)>;
// What order adds (core/kernels.h, AttentionTerms); each may be missing.
struct AttentionTerms {
  Value bias, query_table, key_table, value_table, query_places, key_places;
  int64_t zero = 0;
};
struct AttentionRule {
  int heads = 1;
  bool causal = false;
  int64_t reach = AttentionShape::kFar;
  double scale = 1;
  WeightFactor dropout = {};
};
Value attention(const Value& q, const Value& k, const Value& v, const Segments& queries, const Segments& keys,
                const AttentionRule& rule, const AttentionTerms& terms = {});
Value head_dots(const Value& x, const Value& w, int heads, double factor);
// Linear attention: the sums of linear_sums() as the quadratic form that they are equal to.
Value linear_sums(const Value& q, const Value& k, const Value& v, const Segments& segments, int heads,
                  SumDirection direction);
Value head_quotients(const Value& a, const Value& b, double epsilon);
Value head_softmax(const Value& x, int heads);
Value head_products(const Value& x, const Value& w, int heads);
Value favor_features(const Value& products, const Value& x, int heads, bool queries);
Value cross_entropy(const Value& logits, const std::vector<int32_t>& targets, double smoothing);
Value squared_error(const Value& predictions, const std::vector<float>& targets);

}  // namespace gyre::reference
