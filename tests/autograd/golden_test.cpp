// Every op against PyTorch and other independent implementations: golden/ops.json, written by golden/make_golden.py.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "autograd/ops.h"
#include "tests/autograd/op_run.h"
#include "tests/source_dir.h"

using namespace gyre;
using nlohmann::json;

namespace {

json golden_cases() { return json::parse(std::ifstream(source_dir() / "tests/autograd/golden/ops.json")); }

Tensor read_tensor(const json& j, DType dtype) {
  return Tensor::from<double>(Shape(j["shape"].get<std::vector<int64_t>>()), j["data"].get<std::vector<double>>())
      .to(dtype);
}

Tensor read_ids(const json& j) { return Tensor::from<int32_t>({int64_t(j.size())}, j.get<std::vector<int32_t>>()); }

using Vars = std::vector<Var>;

Var run_rope(const Vars& in, const json& a) {
  const Rotary rotary{.heads = a["heads"],
                      .dims = a["dims"],
                      .pairs = a["half_split"] ? RotaryPairs::half_split : RotaryPairs::interleaved,
                      .magnitude = a["magnitude"]};
  const Tensor positions = read_ids(a["positions"]);
  const auto all = positions.span<int32_t>();
  return rope(in[0], make_rotation(in[1], *std::max_element(all.begin(), all.end()) + 1, rotary), positions);
}

Var run_attention(const Vars& in, const json& a) {
  const auto segments = [](const json& lengths) { return Segments::from_lengths(lengths.get<std::vector<int32_t>>()); };
  const AttentionOptions options{.heads = a["heads"], .causal = a["causal"]};
  if (in.size() == 1) return self_attention(in[0], segments(a["query_lengths"]), options);
  return attention(in[0], in[1], segments(a["query_lengths"]), segments(a["key_lengths"]), options);
}

// The op on its inputs, with the attributes `a` of the file.
using GoldenOp = Var (*)(const Vars& in, const json& a);
const std::map<std::string, GoldenOp> kOps{
    {"linear", [](const Vars& in, const json&) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Var()); }},
    {"add", [](const Vars& in, const json&) { return add(in[0], in[1]); }},
    {"relu", [](const Vars& in, const json&) { return relu(in[0]); }},
    {"gelu", [](const Vars& in, const json&) { return gelu(in[0]); }},
    {"tanh", [](const Vars& in, const json&) { return activation(in[0], Activation::tanh); }},
    {"linear_tanh",
     [](const Vars& in, const json&) { return linear_activation(in[0], in[1], in[2], Activation::tanh); }},
    {"layer_norm", [](const Vars& in, const json& a) { return layer_norm(in[0], in[1], in[2], a["epsilon"]); }},
    {"residual_layer_norm",
     [](const Vars& in, const json& a) { return residual_layer_norm(in[0], in[1], 0, in[2], in[3], a["epsilon"]); }},
    {"embedding", [](const Vars& in, const json& a) { return embedding(in[0], read_ids(a["ids"]), a["factor"]); }},
    {"rope", run_rope},
    {"attention", run_attention},
    {"cross_entropy",
     [](const Vars& in, const json& a) { return cross_entropy(in[0], read_ids(a["targets"]), a["smoothing"]).loss; }},
    {"linear_cross_entropy",
     [](const Vars& in, const json& a) {
       return linear_cross_entropy(in[0], in[1], {}, read_ids(a["targets"]), a["smoothing"]).loss;
     }},
    {"squared_error",
     [](const Vars& in, const json& a) {
       const auto targets = a["targets"].get<std::vector<float>>();
       return squared_error(in[0], Tensor::from<float>({int64_t(targets.size())}, targets)).loss;
     }},
};

void check_op(const json& golden, Kernels& kernels, DType dtype, double tolerance) {
  Tape tape(kernels, {});
  Vars inputs;
  for (const json& input : golden["inputs"]) inputs.push_back(tape.leaf(read_tensor(input, dtype)));
  const Var output = kOps.at(golden["op"])(inputs, golden["attributes"]);
  CHECK_LE(relative_error(output.value(), read_tensor(golden["output"], DType::f64)), tolerance);
  tape.backward(output, read_tensor(golden["cotangent"], dtype));
  for (size_t i = 0; i < inputs.size(); ++i) {
    CAPTURE(golden["inputs"][i]["name"].get<std::string>());
    const Tensor expected = read_tensor(golden["gradients"][i], DType::f64);
    CHECK_LE(relative_error(tape.gradient(inputs[i]), expected, 1e-3), tolerance);
  }
}

// Dropout by a mask that the file knows: forward, and backward, which is the same without the residual.
void check_dropout(const json& golden, Kernels& kernels, DType dtype, double tolerance) {
  const json &a = golden["attributes"], &inputs = golden["inputs"];
  const DropoutMask mask{a["rate"], a["seed"], a["stream"]};
  const Tensor x = read_tensor(inputs[0], dtype), y = x.like(), dx = x.like();
  const Tensor residual = inputs.size() > 1 ? read_tensor(inputs[1], dtype) : Tensor();
  kernels.dropout(y, x, residual, mask);
  kernels.dropout(dx, read_tensor(golden["cotangent"], dtype), {}, mask);
  CHECK_LE(relative_error(y, read_tensor(golden["output"], DType::f64)), tolerance);
  CHECK_LE(relative_error(dx, read_tensor(golden["gradients"][0], DType::f64)), tolerance);
}

}  // namespace

TEST_CASE("every op agrees with its independent implementation") {
  for (const json& golden : golden_cases()) {
    CAPTURE(golden["op"].get<std::string>());
    CAPTURE(golden["name"].get<std::string>());
    const auto check = golden["op"] == "dropout" ? check_dropout : check_op;
    for (Kernels* kernels : available_cpu_kernels()) {
      CAPTURE(kernels->name());
      check(golden, *kernels, DType::f64, 1e-12);
      check(golden, *kernels, DType::f32, 1e-5);
    }
  }
}
