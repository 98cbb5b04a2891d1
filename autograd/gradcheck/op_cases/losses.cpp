// Rows of cross-entropy, with and without the output layer, of squared error, and of the losses of pairs of texts.
#include <utility>

#include "gyre/autograd/gradcheck/op_cases/rows.h"
#include "gyre/core/random.h"

namespace gyre::op_rows {
namespace {

struct LossCase {
  std::string variant;
  int64_t rows, classes;
  CrossEntropyOptions options;
  bool ignored = false;  // ignore every third row
  double deviation = 1;  // standard deviation of the logits
};

Ints loss_targets(const LossCase& c) {
  Ints targets = random_ids(c.rows, uint64_t(c.classes));
  for (size_t i = 0; c.ignored && i < targets.size(); i += 3) targets[i] = -1;
  return targets;
}

void add_cross_entropy(std::vector<OpCase>& rows) {
  for (const LossCase& c : std::vector<LossCase>{{"plain", 7, 5, {}},
                                                 {"smoothing", 300, 65, {0.1}},
                                                 {"ignored", 7, 33, {0.1}, true},
                                                 {"all-ignored", 1, 3, {0.1}, true},
                                                 {"one-class", 3, 1, {0.1}},
                                                 {"confident", 5, 17, {0.2}, false, 20},
                                                 {"z-loss", 7, 19, {0.1, 0.02}, true, 3}}) {
    add_case(rows, "cross_entropy/" + c.variant, {{"logits", {c.rows, c.classes}, c.deviation}},
             [=](const Vars& in) { return cross_entropy(in[0], ids_tensor(loss_targets(c)), c.options).loss; });
  }
  // 2100 rows need several chunks. 1003 classes are several packs per thread, and no multiple of a pack.
  for (const LossCase& c : std::vector<LossCase>{{"plain", 7, 5, {}},
                                                 {"smoothing", 65, 33, {0.1}},
                                                 {"ignored", 2100, 5, {0.1}, true},
                                                 {"wide", 3, 1003, {0.1}},
                                                 {"z-loss", 9, 131, {0, 0.05}, true, 2}}) {
    add_case(rows, "linear_cross_entropy/" + c.variant, {{"x", {c.rows, 3}}, parameter("w", {c.classes, 3})},
             [=](const Vars& in) {
               return linear_cross_entropy(in[0], in[1], {}, ids_tensor(loss_targets(c)), c.options).loss;
             });
    add_case(rows, "linear_cross_entropy/" + c.variant + "-bias",
             {{"x", {c.rows, 3}}, parameter("w", {c.classes, 3}), parameter("bias", {c.classes})}, [=](const Vars& in) {
               return linear_cross_entropy(in[0], in[1], in[2], ids_tensor(loss_targets(c)), c.options).loss;
             });
  }
}

// 1100 pairs of rows need several chunks. The larger alpha and the logits are, the more the rounding of bf16 logits
// changes the gradients: small weights and biases keep the rows comparable in bf16.
void add_r_drop(std::vector<OpCase>& rows) {
  struct RDropCase : LossCase {
    double alpha;
  };
  for (const RDropCase& c : std::vector<RDropCase>{{{"plain", 7, 5, {}}, 2},
                                                   {{"one-pair", 1, 3, {0.1}}, 1},
                                                   {{"smoothing", 65, 33, {0.1}}, 2},
                                                   {{"no-divergence", 9, 17, {0.1}}, 0},
                                                   {{"ignored", 1100, 5, {0.1}, true}, 1},
                                                   {{"all-ignored", 1, 3, {0.1}, true}, 5},
                                                   {{"one-class", 3, 1, {0.1}}, 5},
                                                   {{"wide", 3, 1003, {0.1}}, 1}}) {
    for (const bool has_bias : {false, true}) {
      std::vector<Input> inputs{{"x", {2 * c.rows, 3}}, parameter("w", {c.classes, 3}, 0.5)};
      if (has_bias) inputs.push_back(parameter("bias", {c.classes}, 0.25));
      add_case(rows, concat("linear_r_drop/", c.variant, has_bias ? "-bias" : ""), inputs, [=](const Vars& in) {
        const Var bias = has_bias ? in[2] : Var();
        return linear_r_drop(in[0], in[1], bias, ids_tensor(loss_targets(c)), c.options.smoothing, c.alpha).loss;
      });
    }
  }
}

void add_squared_error(std::vector<OpCase>& rows) {
  for (const auto& [variant, shape] :
       {std::pair("one-row", Shape{1, 1}), std::pair("no-rows", Shape{0, 1}), std::pair("vector", Shape{65}),
        std::pair("odd-size", Shape{37, 1}), std::pair("many-rows", Shape{2100, 1})}) {
    const Tensor targets = normal_tensor({shape[0]}, DType::f32, hash_name(variant), 0);
    add_case(rows, concat("squared_error/", variant), {{"predictions", shape}},
             [=](const Vars& in) { return squared_error(in[0], targets).loss; });
  }
  const Tensor targets = normal_tensor({9}, DType::f32, 9, 0);
  add_case(rows, "squared_error/of-a-product", {{"x", {9, 5}}, parameter("w", {1, 5}), parameter("bias", {1})},
           [=](const Vars& in) { return squared_error(linear(in[0], in[1], in[2]), targets).loss; });
}

void add_binary_cross_entropy(std::vector<OpCase>& rows) {
  for (const auto& [variant, n, deviation] :
       {std::tuple("one-row", 1, 1.0), std::tuple("odd-size", 37, 1.0), std::tuple("confident", 9, 20.0)}) {
    const Ints labels = random_ids(n, 2);
    add_case(rows, concat("binary_cross_entropy/", variant), {{"logits", {n, 1}, deviation}},
             [=](const Vars& in) { return binary_cross_entropy(in[0], ids_tensor(labels)).loss; });
  }
}

void add_margin_loss(std::vector<OpCase>& rows) {
  for (const auto& [variant, shape, margin] :
       {std::tuple("one-pair", Shape{2, 1}, 1.0), std::tuple("no-pairs", Shape{0, 1}, 1.0),
        std::tuple("vector", Shape{66}, 0.5), std::tuple("no-margin", Shape{14, 1}, 0.0),
        std::tuple("many-pairs", Shape{2102, 1}, 1.0)}) {
    add_case(rows, concat("margin_loss/", variant), {{"scores", shape}},
             [margin = margin](const Vars& in) { return margin_loss(in[0], margin).loss; });
  }
}

}  // namespace

void add_losses(std::vector<OpCase>& rows) {
  add_cross_entropy(rows);
  add_r_drop(rows);
  add_squared_error(rows);
  add_binary_cross_entropy(rows);
  add_margin_loss(rows);
}

}  // namespace gyre::op_rows
