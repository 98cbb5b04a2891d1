// Compares every op with PyTorch and other independent implementations: golden/ops.json, written by
// golden/make_golden.py.
#include <cxxabi.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <typeinfo>

#include "gyre/autograd/ops.h"
#include "gyre/core/io/file.h"
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
  const RopeShape rotary{.heads = a["heads"],
                         .dims = a["dims"],
                         .pairs = a["half_split"] ? RotaryPairs::half_split : RotaryPairs::interleaved,
                         .magnitude = a["magnitude"]};
  const Tensor positions = read_ids(a["positions"]);
  const auto all = positions.span<int32_t>();
  return rope(in[0], make_rotation(in[1], *std::max_element(all.begin(), all.end()) + 1, rotary), positions);
}

Var run_attention(const Vars& in, const json& a) {
  const auto segments = [](const json& lengths) { return Segments::from_lengths(lengths.get<std::vector<int32_t>>()); };
  const AttentionOptions options{.heads = a["heads"], .kv_heads = a.value("kv_heads", 0), .causal = a["causal"]};
  if (in.size() == 3)
    return attention(in[0], in[1], in[2], segments(a["query_lengths"]), segments(a["key_lengths"]), options);
  if (in.size() == 1) return self_attention(in[0], segments(a["query_lengths"]), options);
  return attention(in[0], in[1], segments(a["query_lengths"]), segments(a["key_lengths"]), options);
}

Var run_linear_attention_scan(const Vars& in, const json& a) {
  const std::map<std::string, ScanDirection> directions{
      {"before", ScanDirection::before}, {"after", ScanDirection::after}, {"all", ScanDirection::all}};
  const Segments segments = Segments::from_lengths(a["lengths"].get<std::vector<int32_t>>());
  return linear_attention_scan(in[0], in[1], in.size() > 2 ? in[2] : Var(), segments, a["heads"],
                               directions.at(a["direction"]));
}

// Features of keys if the file has x, else of queries, which need only the width of x.
Var run_favor_features(const Vars& in, const json& a) {
  const int heads = a["heads"], width = a["width"];
  if (in.size() > 1) return favor_features(in[0], in[1], heads, FavorSide::keys);
  const Tensor x = Tensor::zeros({in[0].shape()[0], heads * width}, in[0].value().dtype());
  return favor_features(in[0], in[0].tape().constant(x), heads, FavorSide::queries);
}

// Runs the op on its inputs, with the attributes `a` from the file.
using GoldenOp = Var (*)(const Vars& in, const json& a);
const std::map<std::string, GoldenOp> kOps{
    {"linear", [](const Vars& in, const json&) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Var()); }},
    {"add", [](const Vars& in, const json&) { return add(in[0], in[1]); }},
    {"relu", [](const Vars& in, const json&) { return relu(in[0]); }},
    {"gelu", [](const Vars& in, const json&) { return gelu(in[0]); }},
    {"tanh", [](const Vars& in, const json&) { return activation(in[0], Activation::tanh); }},
    {"silu", [](const Vars& in, const json&) { return activation(in[0], Activation::silu); }},
    {"gelu_tanh", [](const Vars& in, const json&) { return activation(in[0], Activation::gelu_tanh); }},
    {"swiglu", [](const Vars& in, const json&) { return gated_activation(in[0], Activation::silu); }},
    {"geglu", [](const Vars& in, const json&) { return gated_activation(in[0], Activation::gelu); }},
    {"rms_norm", [](const Vars& in, const json& a) { return rms_norm(in[0], in[1], a["epsilon"]); }},
    {"linear_silu",
     [](const Vars& in, const json&) {
       return linear_activation(in[0], in[1], in.size() > 2 ? in[2] : Var(), Activation::silu);
     }},
    {"linear_gelu_tanh",
     [](const Vars& in, const json&) {
       return linear_activation(in[0], in[1], in.size() > 2 ? in[2] : Var(), Activation::gelu_tanh);
     }},
    {"linear_relu",
     [](const Vars& in, const json&) { return linear_activation(in[0], in[1], in[2], Activation::relu); }},
    {"linear_gelu",
     [](const Vars& in, const json&) { return linear_activation(in[0], in[1], in[2], Activation::gelu); }},
    {"linear_tanh",
     [](const Vars& in, const json&) { return linear_activation(in[0], in[1], in[2], Activation::tanh); }},
    {"scale", [](const Vars& in, const json& a) { return scale(in[0], a["factor"]); }},
    {"dropout", [](const Vars& in, const json& a) { return dropout(in[0], a["rate"]); }},
    {"residual_dropout", [](const Vars& in, const json& a) { return residual_dropout(in[0], in[1], a["rate"]); }},
    {"head_dot", [](const Vars& in, const json& a) { return head_dot(in[0], in[1], a["heads"], a["factor"]); }},
    {"head_matmul", [](const Vars& in, const json& a) { return head_matmul(in[0], in[1], a["heads"]); }},
    {"head_softmax", [](const Vars& in, const json& a) { return head_softmax(in[0], a["heads"]); }},
    {"head_divide", [](const Vars& in, const json& a) { return head_divide(in[0], in[1], a["epsilon"]); }},
    {"linear_attention_scan", run_linear_attention_scan},
    {"favor_features", run_favor_features},
    {"layer_norm", [](const Vars& in, const json& a) { return layer_norm(in[0], in[1], in[2], a["epsilon"]); }},
    {"residual_layer_norm",
     [](const Vars& in, const json& a) { return residual_layer_norm(in[0], in[1], 0, in[2], in[3], a["epsilon"]); }},
    {"embedding", [](const Vars& in, const json& a) { return embedding(in[0], read_ids(a["ids"]), a["factor"]); }},
    {"rope", run_rope},
    {"attention", run_attention},
    {"cross_entropy",
     [](const Vars& in, const json& a) {
       return cross_entropy(in[0], read_ids(a["targets"]), {a["smoothing"], a["z_loss"]}).loss;
     }},
    {"linear_cross_entropy",
     [](const Vars& in, const json& a) {
       return linear_cross_entropy(in[0], in[1], {}, read_ids(a["targets"]), {a["smoothing"], a["z_loss"]}).loss;
     }},
    {"linear_r_drop",
     [](const Vars& in, const json& a) {
       return linear_r_drop(in[0], in[1], {}, read_ids(a["targets"]), a["smoothing"], a["alpha"]).loss;
     }},
    {"squared_error",
     [](const Vars& in, const json& a) {
       const auto targets = a["targets"].get<std::vector<float>>();
       return squared_error(in[0], Tensor::from<float>({int64_t(targets.size())}, targets)).loss;
     }},
    {"segment_mean",
     [](const Vars& in, const json& a) {
       return segment_mean(in[0], Segments::from_lengths(a["lengths"].get<std::vector<int32_t>>()));
     }},
    {"binary_cross_entropy",
     [](const Vars& in, const json& a) { return binary_cross_entropy(in[0], read_ids(a["labels"])).loss; }},
    {"margin_loss", [](const Vars& in, const json& a) { return margin_loss(in[0], a["margin"]).loss; }},
};

// The tape is in training mode if the file has a seed for its dropout.
Tape::Options tape_options(const json& golden) {
  const json& a = golden["attributes"];
  return {.training = a.contains("tape_seed"), .seed = a.value("tape_seed", uint64_t{0})};
}

Var record(const json& golden, Tape& tape, DType dtype, Vars& inputs) {
  for (const json& input : golden["inputs"]) inputs.push_back(tape.leaf(read_tensor(input, dtype)));
  return kOps.at(golden["op"])(inputs, golden["attributes"]);
}

void check_op(const json& golden, Kernels& kernels, DType dtype, double tolerance) {
  Tape tape(kernels, tape_options(golden));
  Vars inputs;
  const Var output = record(golden, tape, dtype, inputs);
  CHECK_LE(relative_error(output.value(), read_tensor(golden["output"], DType::f64)), tolerance);
  tape.backward(output, read_tensor(golden["cotangent"], dtype));
  for (size_t i = 0; i < inputs.size(); ++i) {
    CAPTURE(golden["inputs"][i]["name"].get<std::string>());
    const Tensor expected = read_tensor(golden["gradients"][i], DType::f64);
    CHECK_LE(relative_error(tape.gradient(inputs[i]), expected, 1e-3), tolerance);
  }
}

// Runs the dropout kernel without a tape, with any seed and stream. Backward is the same kernel without the residual.
bool has_mask(const json& golden) { return golden["attributes"].contains("stream"); }

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

// The names of the classes derived from Op, as the sources in autograd/ops define them.
std::set<std::string> op_classes() {
  std::set<std::string> names;
  const std::regex definition("struct (\\w+) final : Op ");
  for (const auto& file : std::filesystem::recursive_directory_iterator(source_dir() / "autograd/ops")) {
    if (!file.is_regular_file()) continue;
    const std::string text = read_file(file.path());
    for (std::sregex_iterator match(text.begin(), text.end(), definition), end; match != end; ++match)
      names.insert((*match)[1]);
  }
  return names;
}

// The class name without namespaces: "Linear" for gyre::(anonymous namespace)::Linear.
std::string class_name(const Op& op) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(typeid(op).name(), nullptr, nullptr, &status),
                                                    std::free);
  const std::string full = name.get();
  return full.substr(full.rfind(':') + 1);
}

}  // namespace

TEST_CASE("every op agrees with its independent implementation") {
  for (const json& golden : golden_cases()) {
    CAPTURE(golden["op"].get<std::string>());
    CAPTURE(golden["name"].get<std::string>());
    const auto check = has_mask(golden) ? check_dropout : check_op;
    for (Kernels* kernels : available_cpu_kernels()) {
      CAPTURE(kernels->name());
      check(golden, *kernels, DType::f64, 1e-12);
      check(golden, *kernels, DType::f32, 1e-5);
    }
  }
}

TEST_CASE("every op class has a golden case") {
  std::set<std::string> checked;
  for (const json& golden : golden_cases()) {
    if (has_mask(golden)) continue;
    Tape tape(cpu_kernels(), tape_options(golden));
    Vars inputs;
    record(golden, tape, DType::f32, inputs);
    for (const Node& node : tape.nodes()) {
      if (node.op) checked.insert(class_name(*node.op));
    }
  }
  const std::set<std::string> classes = op_classes();
  CHECK_GT(classes.size(), 20);
  for (const std::string& name : classes) CHECK_MESSAGE(checked.contains(name), name, " has no case in ops.json");
}
