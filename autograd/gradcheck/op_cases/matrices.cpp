// Rows of ops on plain matrices (products, activations, gated or not, sums, dropout), and a block composed of several
// ops.
#include <cmath>

#include "gyre/autograd/gradcheck/op_cases/rows.h"

namespace gyre::op_rows {
namespace {

constexpr Activation kActivations[] = {Activation::relu, Activation::gelu, Activation::tanh, Activation::silu,
                                       Activation::gelu_tanh};
constexpr Activation kFeatureMaps[] = {Activation::elu_plus_one, Activation::relu_plus, Activation::bounded_exp};

OpCase linear_case(const std::string& variant, int64_t n, int64_t d, int64_t o, bool bias) {
  std::vector<Input> inputs{{"x", {n, d}}, parameter("w", {o, d})};
  if (bias) inputs.push_back(parameter("bias", {o}));
  return make_case("linear/" + variant, inputs,
                   [=](const Vars& in) { return linear(in[0], in[1], bias ? in[2] : Var()); });
}

OpCase linear_activation_case(const std::string& variant, int64_t n, int64_t d, int64_t o, Activation kind, double rate,
                              bool bias = true) {
  std::vector<Input> inputs{{"x", {n, d}}, parameter("w", {o, d}, 1 / std::sqrt(double(d)))};
  if (bias) inputs.push_back(parameter("bias", {o}));
  OpCase row = make_case(concat("linear_", kind, "/", variant), inputs, [=](const Vars& in) {
    return linear_activation(in[0], in[1], bias ? in[2] : Var(), kind, rate);
  });
  // A difference across relu's kink is not a derivative. With these rounded values, every element before the activation
  // is an odd multiple of 1/32, or without a bias of 1/64 if d is odd, so none is near the kink.
  for (NamedInput& input : row.inputs) {
    for (double& v : input.value.span<double>()) {
      if (input.name == "bias") {
        v = std::floor(16 * v) / 16 + 1.0 / 32;
      } else {
        v = bias ? std::round(4 * v) / 4 : std::floor(4 * v) / 4 + 1.0 / 8;
      }
    }
  }
  return row;
}

void add_linear(std::vector<OpCase>& rows) {
  rows.push_back(linear_case("one-number", 1, 1, 1, true));
  rows.push_back(linear_case("one-row", 1, 33, 7, true));
  rows.push_back(linear_case("odd-sizes", 65, 17, 129, true));
  rows.push_back(linear_case("many-rows", 1100, 3, 5, true));
  rows.push_back(linear_case("no-bias", 7, 129, 2, false));
  rows.push_back(linear_case("no-rows", 0, 5, 3, true));
  rows.push_back(linear_case("deep", 3, 1500, 4, true));
  add_case(rows, "linear/some-rows", {{"x", {7, 17}}, parameter("w", {13, 17}), parameter("bias", {13})},
           [](const Vars& in) { return linear(in[0], in[1], in[2], 3, 5); });
  for (const Activation kind : kActivations) {
    rows.push_back(linear_activation_case("odd-sizes", 65, 17, 131, kind, 0));
    rows.push_back(linear_activation_case("dropout", 37, 5, 301, kind, 0.3));
    rows.push_back(linear_activation_case("one-number", 1, 1, 1, kind, 0));
    rows.push_back(linear_activation_case("no-rows", 0, 5, 3, kind, 0.1));
    rows.push_back(linear_activation_case("no-bias", 9, 7, 131, kind, 0.2, false));
  }
  add_case(rows, "linear/by-itself", {{"x", {7, 5}}}, [](const Vars& in) { return linear(in[0], in[0]); });
}

OpCase activation_case(Activation kind) {
  OpCase row = make_case(std::string(to_string(kind)), {{"x", {150, 129}, 2}},
                         [=](const Vars& in) { return activation(in[0], kind); });
  // A difference across relu's kink is not a derivative: keep the elements away from 0.
  for (double& x : row.inputs[0].value.span<double>()) x += std::copysign(1e-3, x);
  return row;
}

OpCase gated_activation_case(const std::string& variant, int64_t n, int64_t f, Activation kind) {
  return make_case(concat("gated_activation/", variant, "-", kind), {{"x", {n, 2 * f}, 2}},
                   [=](const Vars& in) { return gated_activation(in[0], kind); });
}

void add_elementwise(std::vector<OpCase>& rows) {
  add_case(rows, "add", {{"a", {130, 129}}, {"b", {130, 129}}}, [](const Vars& in) { return add(in[0], in[1]); });
  add_case(rows, "add/to-itself", {{"a", {3, 5}}}, [](const Vars& in) { return add(in[0], in[0]); });
  // Every use of x except one passes its gradient on without a copy.
  add_case(rows, "add/fan-out", {{"x", {2, 7}}, {"y", {2, 7}}}, [](const Vars& in) {
    return add(as_stored(add(in[0], in[1])), as_stored(add(in[0], as_stored(scale(in[0], -0.5)))));
  });
  add_case(rows, "scale", {{"x", {1, 129}}}, [](const Vars& in) { return scale(in[0], -1.75); });
  for (const Activation kind : kActivations) rows.push_back(activation_case(kind));
  for (const Activation kind : kFeatureMaps) rows.push_back(activation_case(kind));
  for (const Activation kind : {Activation::silu, Activation::gelu, Activation::gelu_tanh})
    rows.push_back(gated_activation_case("odd-sizes", 35, 131, kind));
  rows.push_back(gated_activation_case("whole-vectors", 70, 64, Activation::silu));
  rows.push_back(gated_activation_case("one-number", 1, 1, Activation::silu));
  rows.push_back(gated_activation_case("no-rows", 0, 3, Activation::silu));
}

void add_dropout(std::vector<OpCase>& rows) {
  for (const auto& [variant, shape, rate] :
       {std::tuple("small", Shape{3, 5}, 0.5), std::tuple("large", Shape{131, 129}, 0.1),
        std::tuple("none", Shape{2, 2}, 0.0)}) {
    add_case(rows, concat("dropout/", variant), {{"x", shape}},
             [rate = rate](const Vars& in) { return dropout(in[0], rate); });
    add_case(rows, concat("residual_dropout/", variant), {{"residual", shape}, {"x", shape}},
             [rate = rate](const Vars& in) { return residual_dropout(in[0], in[1], rate); });
  }
  add_case(rows, "residual_dropout/to-itself", {{"x", {7, 5}}},
           [](const Vars& in) { return residual_dropout(in[0], in[0], 0.3); });
}

// Each gradient of x but the first is added to the one before by the kernel that computes it: in place, or to a new
// tensor if the one before is also the gradient of another value.
void add_sums_of_gradients(std::vector<OpCase>& rows) {
  add_case(rows, "composite/projections",
           {{"x", {37, 19}}, parameter("w", {13, 19}), parameter("b", {13}), parameter("w2", {13, 19})},
           [](const Vars& in) {
             return add(as_stored(add(linear(in[0], in[1], in[2]), linear(in[0], in[3]))),
                        linear_activation(in[0], in[3], in[2], Activation::gelu));
           });
  add_case(rows, "composite/residual-projection", {{"x", {21, 11}}, {"y", {21, 11}}, parameter("w", {11, 11})},
           [](const Vars& in) {
             const Var projected = linear(in[0], in[2]);  // recorded first: its backward comes last
             return add(as_stored(add(in[0], in[1])), projected);
           });
  // Here, too, backward comes last for what is recorded first.
  const std::vector<Input> norm_inputs{{"x", {21, 33}}, parameter("gamma", {33}, 0.5, 1), parameter("beta", {33})};
  add_case(rows, "composite/residual-norm", norm_inputs, [](const Vars& in) {
    const Var normal = layer_norm(in[0], in[1], in[2]);
    return add(in[0], normal);
  });
  add_case(rows, "composite/scaled-norm", norm_inputs, [](const Vars& in) {
    const Var normal = layer_norm(in[0], in[1], in[2]);
    return add(as_stored(scale(in[0], 0.5)), normal);
  });
}

// A feed-forward block, to check how gradients add up between ops: x is used twice.
void add_feed_forward(std::vector<OpCase>& rows) {
  add_case(rows, "composite/feed-forward",
           {{"x", {9, 6}},
            parameter("gamma", {6}, 0.5, 1),
            parameter("beta", {6}),
            parameter("w1", {11, 6}),
            parameter("b1", {11}),
            parameter("w2", {6, 11})},
           [](const Vars& in) {
             const Var hidden = gelu(linear(layer_norm(in[0], in[1], in[2]), in[3], in[4]));
             return residual_dropout(in[0], linear(hidden, in[5]), 0.25);
           });
}

}  // namespace

void add_matrices(std::vector<OpCase>& rows) {
  add_linear(rows);
  add_elementwise(rows);
  add_dropout(rows);
}

void add_composites(std::vector<OpCase>& rows) {
  add_feed_forward(rows);
  add_sums_of_gradients(rows);
}

}  // namespace gyre::op_rows
