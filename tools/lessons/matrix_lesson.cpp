#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/autograd/reference.h"
#include "gyre/core/io/json.h"
#include "tools/lessons/lesson_kinds.h"
#include "tools/page/tape/step_data.h"

namespace gyre {
namespace {

using reference::Graph;
using reference::Matrix;

std::string_view formula_of(std::string_view op) {
  static const std::map<std::string_view, std::string_view> formulas{
      {"matmul", "y = a b\n  da += dy b^T;  db += a^T dy"}, {"transpose", "y = a^T\n  da += dy^T"},
      {"add", "y = a + b\n  da += dy;  db += dy"},          {"multiply", "y = a * b\n  da += dy * b;  db += dy * a"},
      {"map", "y = f(a) by element\n  da += dy * f'(a)"},   {"gather", "y = a[index]\n  da[index] += dy"},
  };
  return formulas.at(op);
}

Matrix readable_matrix(int64_t rows, int64_t cols, uint64_t stream) {
  Matrix m(rows, cols);
  m.data = readable_numbers({rows, cols}, stream).to_vector<double>();
  return m;
}

TensorSample sample_of(const Matrix& m) { return sample_tensor(Tensor::from({m.rows, m.cols}, m.data), {}); }

// The contribution of a node to the gradient of an input that has several uses.
RecordedStep::Path path_of(int input, const Matrix& before, const Matrix& after, int number, int uses) {
  RecordedStep::Path path{.input = input, .number = number, .added = {}, .sum = {}};
  Matrix added = after;
  for (size_t i = 0; i < added.data.size(); ++i) added.data[i] -= before.data[i];
  if (number > 1) path.added = sample_of(added);
  if (number < uses) path.sum = sample_of(after);
  return path;
}

// Records a graph and its backward like a StepRecorder those of a tape.
class GraphRecorder {
 public:
  explicit GraphRecorder(const Graph& graph) {
    for (const reference::Node& node : graph.nodes()) add(node);
  }

  // Call it for each node from the last to the first. Runs the node's backward.
  void step_back(const reference::Node& node) {
    const int number = numbers_.at(&node);
    data_.nodes[size_t(number)].gradient = sample_of(node.gradient);
    if (!node.backward) return;
    std::vector<Matrix> before;
    for (const reference::Node* input : node.inputs) before.push_back(input->gradient);
    node.backward(node.gradient);
    RecordedStep& step = data_.steps.emplace_back();
    step.node = number;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i > 0 && node.inputs[i] == node.inputs[0]) continue;  // a product of x and x has one path
      const auto input = size_t(numbers_.at(node.inputs[i]));
      ++done_[input];
      if (uses_[input] > 1)
        step.paths.push_back(path_of(int(i), before[i], node.inputs[i]->gradient, done_[input], uses_[input]));
    }
  }

  const StepData& data() const { return data_; }
  void name(int node, const std::string& name) { data_.names[node] = name; }

 private:
  void add(const reference::Node& node) {
    TapeRow row;
    row.id = int(data_.rows.size());
    row.leaf = node.op.empty();
    row.op = row.leaf ? "constant" : node.op;
    if (!row.leaf) row.formula = formula_of(node.op);
    row.shape = {node.value.rows, node.value.cols};
    row.dtype = DType::f64;
    RecordedNode record;
    record.value = sample_of(node.value);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int input = numbers_.at(node.inputs[i]);
      record.inputs.push_back({.node = input, .constant = {}});
      if (i == 0 || node.inputs[i] != node.inputs[0]) ++uses_[size_t(input)];
    }
    numbers_[&node] = row.id;
    uses_.push_back(0);
    done_.push_back(0);
    data_.rows.push_back(row);
    data_.nodes.push_back(record);
  }

  StepData data_;
  std::map<const reference::Node*, int> numbers_;
  std::vector<int> uses_, done_;  // number of nodes that use a node, and of those whose backward has run
};

}  // namespace

Json matrix_lesson() {
  Graph graph;
  const reference::Value x = graph.input(readable_matrix(2, 3, 0)), gamma = graph.input(readable_matrix(1, 3, 1)),
                         beta = graph.input(readable_matrix(1, 3, 2));
  const reference::Value y = reference::layer_norm(x, gamma, beta, 1e-5);
  GraphRecorder recorder(graph);
  recorder.name(0, "x");
  recorder.name(1, "gamma");
  recorder.name(2, "beta");
  y.node->gradient = readable_matrix(2, 3, 3);
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) recorder.step_back(*node);
  Json lesson{{"kind", "tape"}, {"setting", {{"precision", "fp32"}}}};
  lesson.update(step_json(recorder.data()));
  return lesson;
}

}  // namespace gyre
