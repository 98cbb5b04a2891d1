// A complete reverse-mode automatic differentiation of scalars. The Tape of autograd/tape.h does the same with tensors.
#pragma once

#include <cmath>
#include <vector>

namespace example {

// One operation: its value and its derivatives with respect to up to two inputs.
struct ScalarNode {
  double value;
  int input[2];
  double derivative[2];
};

struct ScalarTape {
  std::vector<ScalarNode> nodes;
  int record(double value, int a = -1, double da = 0, int b = -1, double db = 0) {
    nodes.push_back({value, {a, b}, {da, db}});
    return int(nodes.size()) - 1;
  }
  int multiply(int a, int b) {
    const double x = nodes[size_t(a)].value, y = nodes[size_t(b)].value;
    return record(x * y, a, y, b, x);
  }
  int add(int a, int b) { return record(nodes[size_t(a)].value + nodes[size_t(b)].value, a, 1, b, 1); }
  int sine(int a) {
    const double x = nodes[size_t(a)].value;
    return record(std::sin(x), a, std::cos(x));
  }

  // Returns d(output) / d(node) for every node. Nodes follow their inputs, so a walk from the end visits all uses of a
  // value before the value itself. At that point its gradient is the sum over all uses.
  std::vector<double> gradients(int output) const {
    std::vector<double> gradient(nodes.size(), 0);
    gradient[size_t(output)] = 1;
    for (int i = output; i >= 0; --i) {
      const ScalarNode& node = nodes[size_t(i)];
      for (int k = 0; k < 2; ++k)
        if (node.input[k] >= 0) gradient[size_t(node.input[k])] += node.derivative[k] * gradient[size_t(i)];
    }
    return gradient;
  }
};

}  // namespace example
