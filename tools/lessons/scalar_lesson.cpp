#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/io/json.h"
#include "tools/examples/scalar_tape/scalar_tape.h"
#include "tools/lessons/lesson_kinds.h"

namespace gyre {

Json scalar_lesson() {
  example::ScalarTape tape;
  const int x = tape.record(2), y = tape.record(3);
  const int product = tape.multiply(x, y), sine = tape.sine(x);
  const std::vector<double> gradients = tape.gradients(tape.add(product, sine));
  const std::vector<std::string> expressions{"x", "y", "a = x · y", "b = sin(x)", "f = a + b"};
  Json nodes = Json::array();
  for (size_t i = 0; i < tape.nodes.size(); ++i) {
    const example::ScalarNode& node = tape.nodes[i];
    Json inputs = Json::array();
    for (int k = 0; k < 2; ++k)
      if (node.input[k] >= 0) inputs.push_back({{"node", node.input[k]}, {"derivative", node.derivative[k]}});
    nodes.push_back(
        {{"expression", expressions.at(i)}, {"value", node.value}, {"gradient", gradients[i]}, {"inputs", inputs}});
  }
  return {{"kind", "scalars"}, {"nodes", nodes}};
}

}  // namespace gyre
