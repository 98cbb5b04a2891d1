// Tests which ops of the table the step page explains element by element (tools/page/assets/tape/arithmetic), and which
// of them gyre bench ops measures.
#include <doctest/doctest.h>

#include <functional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "gyre/autograd/gradcheck/op_cases.h"
#include "gyre/core/io/file.h"
#include "tests/source_dir.h"
#include "tools/bench/kernels.h"

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

// Adds the names of the ops that a function of these inputs records.
void add_ops(std::set<std::string>& names, const std::function<Var(Tape&, const std::vector<Var>&)>& run,
             const std::vector<Tensor>& values) {
  Tape tape(cpu_kernels(), kOpCaseTape);
  std::vector<Var> inputs;
  for (const Tensor& value : values) inputs.push_back(tape.leaf(value));
  run(tape, inputs);
  for (const Node& node : tape.nodes())
    if (node.op) names.insert(std::string(node.name()));
}

std::set<std::string> ops_of_table() {
  std::set<std::string> names;
  for (const OpCase& row : op_cases()) {
    std::vector<Tensor> values;
    for (const NamedInput& input : row.inputs) values.push_back(input.value);
    add_ops(names, row.op, values);
  }
  return names;
}

std::set<std::string> measured_ops() {
  std::set<std::string> names;
  for (const auto& [activation, name] : kEnumNames<Activation>) {
    for (const OpBench& bench : op_benches({"small", 2, 8, 16, 32, 40, 4, activation, 16, 64})) {
      if (!bench.run) continue;
      std::vector<Tensor> values;
      for (const OpBench::Input& input : bench.inputs) values.push_back(Tensor::zeros(input.shape, DType::f32));
      add_ops(names, bench.run, values);
    }
  }
  return names;
}

// The ops of the table for which `covered` is false, in the order of the alphabet.
std::string ops_without(const std::function<bool(const std::string&)>& covered) {
  std::string names;
  for (const std::string& op : ops_of_table())
    if (!covered(op)) names += (names.empty() ? "" : " ") + op;
  return names;
}

TEST_CASE("the step page has the arithmetic of all ops but these") {
  const std::set<std::string> explained = ops_with_arithmetic();
  const auto has_arithmetic = [&](const std::string& op) {
    return explained.contains(op) || explained.contains(op.starts_with("linear_") ? op.substr(7) : op);
  };
  CHECK(ops_without(has_arithmetic) ==
        "concat favor_features gather_rows head_matmul linear_r_drop log_softmax max maximum slice where");
}

TEST_CASE("gyre bench ops measures all ops of the table but these") {
  const std::set<std::string> measured = measured_ops();
  INFO("the others share their loops with one that is measured, or do not touch elements");
  CHECK(ops_without([&](const std::string& op) { return measured.contains(op); }) ==
        "bounded_exp cos elu_plus_one erf linear_tanh log maximum mean pow relu_plus sin subtract tanh");
}

}  // namespace
}  // namespace gyre
