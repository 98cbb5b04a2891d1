// Reference implementations of the ops of autograd/ops.h, composed of six basic ops in plain loops over doubles. Tests
// compare the fast ops with them. They are also the best place to start reading: nothing here is optimized, fused or
// saved for backward.
//
// A Graph is a list of nodes in creation order. Each node has a function that adds its contribution to the gradients of
// its inputs. Calling these functions from the last node to the first is reverse-mode differentiation (Linnainmaa
// 1970); the Tape works the same way. Only the basic ops have a hand-written backward.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>
#include <vector>

#include "gyre/core/kernels/kernels.h"

namespace gyre::reference {

// A matrix in row-major order.
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
  std::string_view op;  // empty for inputs
  std::vector<const Node*> inputs;
  Matrix value, gradient;
  std::function<void(const Matrix& dy)> backward;  // adds to the gradients of the inputs
};

class Graph;

// A handle to a node of a graph.
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
  // fp32: no rounding at all. bf16: product() and round_to_storage() round to bf16, at the points where the ops of a
  // bf16 tape round by definition.
  explicit Graph(Precision precision = Precision::fp32) : precision_(precision) {}
  Precision precision() const { return precision_; }

  // A leaf or a constant; they differ only in whether the caller reads the gradient.
  Value input(Matrix value) { return record({}, {}, std::move(value), {}); }
  // Appends a node. `backward` adds to the gradients of the inputs, given the gradient dy of the node's value.
  Value record(std::string_view op, std::vector<const Node*> inputs, Matrix value,
               std::function<void(const Matrix& dy)> backward);
  // Sets the gradient of every node to d(output)/d(node), contracted with the cotangent.
  void backward(const Value& output, const Matrix& cotangent);

  const std::deque<Node>& nodes() const { return nodes_; }  // nodes in creation order

 private:
  Precision precision_;
  std::deque<Node> nodes_;  // a deque keeps addresses valid
};

// The basic ops. Those with several operands throw if the shapes do not match.
Value matmul(const Value& a, const Value& b);
Value transpose(const Value& a);
Value operator+(const Value& a, const Value& b);  // operands of the same shape
Value operator*(const Value& a, const Value& b);  // elementwise, same shapes
// Applies f to every element; `derivative` is f'.
Value map(const Value& a, double (*f)(double), double (*derivative)(double));
// Element i of the result (rows, cols) is element index[i] of a, or 0 if index[i] < 0. Covers selection, slicing,
// permutation and padding.
Value gather(const Value& a, int64_t rows, int64_t cols, std::vector<int64_t> index);

// a b^T. On a bf16 graph the operands are rounded first, and so is dy in backward.
Value product(const Value& a, const Value& b);
// x as one op stores it for the next: on a bf16 graph, the value and its gradient are rounded.
Value round_to_storage(const Value& x);

// Columns first, first + 1, .. of a.
Value columns(const Value& a, int64_t first, int64_t count);

// The ops. Vectors (bias, gamma, frequencies) are matrices of one row. Formulas and arguments are documented in
// autograd/ops.h and core/kernels.
Value linear(const Value& x, const Value& w);
Value linear(const Value& x, const Value& w, const Value& bias);
Value scale(const Value& x, double factor);
Value activation(const Value& x, Activation kind);
Value dropout(const Value& x, const DropoutMask& mask);
Value gated_activation(const Value& x, Activation kind);
// beta may be empty.
Value layer_norm(const Value& x, const Value& gamma, const Value& beta, double epsilon);
Value rms_norm(const Value& x, const Value& gamma, double epsilon);
Value embedding(const Value& table, const std::vector<int32_t>& ids, double factor);
Value rope(const Value& x, const Value& frequencies, const std::vector<int32_t>& positions, const RopeShape& rotary);
// dropout(head, query of its segment, key row): the factor of one attention weight, 0 or 1 / (1 - rate).
using WeightFactor = std::function<double(int head, int64_t query, int64_t key_row)>;
// Relative-position terms (AttentionPositionTerms in core/kernels/arguments.h); each may be empty.
struct PositionTerms {
  Value bias, query_table, key_table, value_table, pos_queries, pos_keys;
  int64_t zero_offset = 0;
};
struct AttentionRule {
  int heads = 1;
  bool causal = false;
  int64_t window = AttentionShape::kUnlimited;
  double scale = 1;
  WeightFactor dropout = {};
};
Value attention(const Value& q, const Value& k, const Value& v, const Segments& queries, const Segments& keys,
                const AttentionRule& rule, const PositionTerms& terms = {});
Value head_dot(const Value& x, const Value& w, int heads, double factor);
// Linear attention: the sums of linear_attention_scan() in their quadratic form.
Value linear_attention_scan(const Value& q, const Value& k, const Value& v, const Segments& segments, int heads,
                            ScanDirection direction);
Value head_divide(const Value& a, const Value& b, double epsilon);
Value head_softmax(const Value& x, int heads);
Value head_matmul(const Value& x, const Value& w, int heads);
Value favor_features(const Value& products, const Value& x, int heads, bool queries);
Value cross_entropy(const Value& logits, const std::vector<int32_t>& targets, const CrossEntropyOptions& options);
// Row i of `first` and row i of `second`: the logits of one token in two passes.
Value r_drop(const Value& first, const Value& second, const std::vector<int32_t>& targets, double smoothing,
             double alpha);
Value squared_error(const Value& predictions, const std::vector<float>& targets);

}  // namespace gyre::reference
