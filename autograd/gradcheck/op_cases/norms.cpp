// Rows of layer norm and RMS norm: alone, after a residual sum, and after a projection.
#include "gyre/autograd/gradcheck/op_cases/rows.h"

namespace gyre::op_rows {
namespace {

void add_layer_norm(std::vector<OpCase>& rows) {
  for (const auto& [variant, n, d] : {std::tuple("one-feature", 3, 1), std::tuple("two-features", 5, 2),
                                      std::tuple("one-row", 1, 65), std::tuple("odd-sizes", 131, 129)}) {
    add_case(rows, concat("layer_norm/", variant),
             {{"x", {n, d}, 2, 0.5}, parameter("gamma", {d}, 0.5, 1), parameter("beta", {d})},
             [](const Vars& in) { return layer_norm(in[0], in[1], in[2]); });
  }
  add_case(rows, "layer_norm/epsilon", {{"x", {4, 7}, 0.1}, parameter("gamma", {7}), parameter("beta", {7})},
           [](const Vars& in) { return layer_norm(in[0], in[1], in[2], 0.25); });
  add_case(rows, "layer_norm/no-beta", {{"x", {37, 33}, 2, 0.5}, parameter("gamma", {33}, 0.5, 1)},
           [](const Vars& in) { return layer_norm(in[0], in[1], {}); });
  add_case(rows, "layer_norm/three-axes", {{"x", {2, 3, 5}}, parameter("gamma", {5}, 0.5, 1), parameter("beta", {5})},
           [](const Vars& in) { return layer_norm(in[0], in[1], in[2]); });
}

void add_rms_norm(std::vector<OpCase>& rows) {
  const auto row = [&](const std::string& variant, int64_t n, int64_t groups, int64_t d, double epsilon) {
    add_case(rows, "rms_norm/" + variant, {{"x", {n, groups * d}, 2, 0.5}, parameter("gamma", {d}, 0.5, 1)},
             [=](const Vars& in) { return rms_norm(in[0], in[1], epsilon); });
  };
  row("one-feature", 3, 1, 1, 0.25);  // the gradient of x is zero up to epsilon
  row("two-features", 5, 1, 2, 1e-5);
  row("one-row", 1, 1, 65, 1e-6);
  row("odd-sizes", 131, 1, 129, 1e-5);
  row("several-warps", 3, 1, 579, 1e-5);
  row("heads", 35, 3, 7, 1e-6);
  row("wide-heads", 70, 2, 64, 1e-5);
  row("no-rows", 0, 2, 5, 1e-5);
}

void add_residual_layer_norm(std::vector<OpCase>& rows) {
  const auto row = [&](const std::string& variant, int64_t n, int64_t d, double rate, double epsilon) {
    add_case(rows, "residual_layer_norm/" + variant,
             {{"residual", {n, d}}, {"x", {n, d}}, parameter("gamma", {d}, 0.5, 1), parameter("beta", {d})},
             [=](const Vars& in) { return residual_layer_norm(in[0], in[1], rate, in[2], in[3], epsilon); });
  };
  row("one-feature", 3, 1, 0.5, 0.25);  // gradients are zero up to rounding errors, which 1 / epsilon enlarges
  row("two-features", 5, 2, 0, 1e-5);
  row("few-features", 33, 7, 0.3, 1e-5);  // rows begin and end inside a block of four random numbers
  row("odd-sizes", 65, 33, 0.1, 1e-5);
  row("no-dropout", 131, 129, 0, 1e-5);
  row("several-strips", 3, 579, 0.1, 1e-5);
  row("no-rows", 0, 5, 0.1, 1e-5);
  add_case(rows, "residual_layer_norm/to-itself", {{"x", {7, 5}}, parameter("gamma", {5}), parameter("beta", {5})},
           [](const Vars& in) { return residual_layer_norm(in[0], in[0], 0.3, in[1], in[2]); });
}

// The norm's backward also computes the gradient of the projection's bias.
OpCase projected_case(const std::string& variant, int64_t n, int64_t d, double rate) {
  return make_case("composite/projection-norm-" + variant,
                   {{"residual", {n, d}},
                    {"x", {n, 5}},
                    parameter("w", {d + 2, 5}),
                    parameter("bias", {d + 2}),
                    parameter("gamma", {d}, 0.5, 1),
                    parameter("beta", {d})},
                   [=](const Vars& in) {
                     return residual_layer_norm(in[0], linear(in[1], in[2], in[3], 1, d), rate, in[4], in[5]);
                   });
}

// Another op adds to the gradient of the projection later, so that its bias needs a sum of its own.
OpCase shared_projection_case() {
  return make_case("composite/projection-norm-shared",
                   {{"residual", {9, 7}},
                    {"x", {9, 5}},
                    parameter("w", {7, 5}),
                    parameter("bias", {7}),
                    parameter("gamma", {7}, 0.5, 1),
                    parameter("beta", {7})},
                   [](const Vars& in) {
                     const Var projected = linear(in[1], in[2], in[3]);
                     const Var halved = as_stored(scale(projected, 0.5));  // recorded first: its backward comes last
                     return add(residual_layer_norm(in[0], projected, 0, in[4], in[5]), halved);
                   });
}

}  // namespace

void add_norms(std::vector<OpCase>& rows) {
  add_layer_norm(rows);
  add_rms_norm(rows);
  add_residual_layer_norm(rows);
  rows.push_back(projected_case("few-features", 33, 7, 0.3));
  rows.push_back(projected_case("no-dropout", 1100, 33, 0));
  rows.push_back(projected_case("several-warps", 5, 579, 0.1));
  rows.push_back(projected_case("one-row", 1, 65, 0.1));
  rows.push_back(projected_case("no-rows", 0, 5, 0.1));
  rows.push_back(shared_projection_case());
}

}  // namespace gyre::op_rows
