// Tests which ops of the table the step page explains element by element (tools/page/assets/tape/arithmetic).
#include <doctest/doctest.h>

#include <regex>
#include <set>
#include <string>

#include "gyre/autograd/gradcheck/op_cases.h"
#include "gyre/core/io/file.h"
#include "tests/source_dir.h"

namespace gyre {
namespace {

// The names in the tables of rules: "layer_norm: LAYER_NORM".
std::set<std::string> ops_with_arithmetic() {
  std::set<std::string> names;
  const std::regex entry("(\\w+): (?:[A-Z_]+\\b|functionOf|sumRule|\\{)");
  for (const char* file : {"arithmetic.js", "elementary.js", "ops.js"}) {
    const std::string text = read_file(source_dir() / "tools/page/assets/tape/arithmetic" / file);
    for (std::sregex_iterator match(text.begin(), text.end(), entry), end; match != end; ++match)
      names.insert((*match)[1]);
  }
  return names;
}

std::set<std::string> ops_of_table() {
  std::set<std::string> names;
  for (const OpCase& row : op_cases()) {
    Tape tape(cpu_kernels(), kOpCaseTape);
    std::vector<Var> inputs;
    for (const NamedInput& input : row.inputs) inputs.push_back(tape.leaf(input.value));
    row.op(tape, inputs);
    for (const Node& node : tape.nodes())
      if (node.op) names.insert(std::string(node.name()));
  }
  return names;
}

TEST_CASE("the step page has the arithmetic of all ops but these") {
  const std::set<std::string> explained = ops_with_arithmetic();
  std::set<std::string> missing;
  for (const std::string& op : ops_of_table()) {
    const std::string activation = op.starts_with("linear_") ? op.substr(7) : op;
    if (!explained.contains(op) && !explained.contains(activation)) missing.insert(op);
  }
  CHECK(missing == std::set<std::string>{"concat", "favor_features", "gather_rows", "head_matmul", "linear_r_drop",
                                         "log_softmax", "max", "maximum", "slice", "where"});
}

}  // namespace
}  // namespace gyre
