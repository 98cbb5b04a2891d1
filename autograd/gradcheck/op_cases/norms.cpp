#include "gyre/autograd/gradcheck/op_cases/rows.h"

namespace gyre::op_rows {
namespace {

void add_layer_norm(std::vector<OpCase>& rows) {
  for (const auto& [variant, n, d] : {std::tuple("one-feature", 3, 1), std::tuple("two-features", 5, 2),
                                      std::tuple("one-row", 1, 65), std::tuple("odd-sizes", 131, 129)}) {
    rows.push_back(make_case(
        concat("layer_norm/", variant),
        {{"x", {n, d}, 2, 0.5}, parameter("gamma", {d}, 0.5, 1), parameter("beta", {d})},
        [](Tape&, const Vars& in) { return layer_norm(in[0], in[1], in[2]); },
        [](const Values& in) { return reference::layer_norm(in[0], in[1], in[2], 1e-5); }));
  }
  rows.push_back(make_case(
      "layer_norm/epsilon", {{"x", {4, 7}, 0.1}, parameter("gamma", {7}), parameter("beta", {7})},
      [](Tape&, const Vars& in) { return layer_norm(in[0], in[1], in[2], 0.25); },
      [](const Values& in) { return reference::layer_norm(in[0], in[1], in[2], 0.25); }));
}

void add_residual_layer_norm(std::vector<OpCase>& rows) {
  const auto row = [&](const std::string& variant, int64_t n, int64_t d, double rate, double epsilon) {
    const DropoutMask mask = first_mask(rate);
    rows.push_back(make_case(
        "residual_layer_norm/" + variant,
        {{"residual", {n, d}}, {"x", {n, d}}, parameter("gamma", {d}, 0.5, 1), parameter("beta", {d})},
        [=](Tape&, const Vars& in) { return residual_layer_norm(in[0], in[1], rate, in[2], in[3], epsilon); },
        [=](const Values& in) {
          return reference::layer_norm(reference::round_to_storage(in[0] + reference::dropout(in[1], mask)), in[2],
                                       in[3], epsilon);
        }));
  };
  row("one-feature", 3, 1, 0.5, 0.25);  // gradients are zero up to rounding errors, which 1 / epsilon enlarges
  row("two-features", 5, 2, 0, 1e-5);
  row("few-features", 33, 7, 0.3, 1e-5);  // rows begin and end inside a block of four random numbers
  row("odd-sizes", 65, 33, 0.1, 1e-5);
  row("no-dropout", 131, 129, 0, 1e-5);
  row("several-strips", 3, 579, 0.1, 1e-5);
  row("no-rows", 0, 5, 0.1, 1e-5);
  const DropoutMask mask = first_mask(0.3);
  rows.push_back(make_case(
      "residual_layer_norm/to-itself", {{"x", {7, 5}}, parameter("gamma", {5}), parameter("beta", {5})},
      [](Tape&, const Vars& in) { return residual_layer_norm(in[0], in[0], 0.3, in[1], in[2]); },
      [mask](const Values& in) {
        return reference::layer_norm(reference::round_to_storage(in[0] + reference::dropout(in[0], mask)), in[1], in[2],
                                     1e-5);
      }));
}

}  // namespace

void add_norms(std::vector<OpCase>& rows) {
  add_layer_norm(rows);
  add_residual_layer_norm(rows);
}

}  // namespace gyre::op_rows
