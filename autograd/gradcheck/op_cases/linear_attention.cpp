// Rows of linear attention: sums in every direction, over segments with lengths near the chunk size; head-wise softmax,
// products and divisions; FAVOR+ features.
#include "gyre/autograd/gradcheck/op_cases/rows.h"

namespace gyre::op_rows {
namespace {

struct SumsCase {
  std::string variant;
  Ints lengths;
  int heads;
  int64_t features, width;  // without values if the width is 0
  ScanDirection direction;
};

void add_sums(std::vector<OpCase>& rows) {
  using enum ScanDirection;
  for (const SumsCase& c : std::vector<SumsCase>{{"before", {1, 2, 7, 65}, 2, 5, 3, before},
                                                 {"after", {1, 2, 7, 65}, 2, 5, 3, after},
                                                 {"all", {1, 2, 7, 65}, 2, 5, 3, all},
                                                 {"chunks", {63, 64, 129}, 1, 16, 32, before},
                                                 {"chunks-after", {63, 64, 129}, 1, 16, 32, after},
                                                 {"chunks-all", {128, 66}, 1, 17, 31, all},
                                                 {"empty-segments", {0, 2, 0, 3}, 2, 3, 4, before},
                                                 {"wide", {5, 70}, 1, 131, 33, before},
                                                 {"favor", {5, 40}, 1, 266, 64, before},
                                                 {"one-feature", {3, 66}, 3, 1, 5, before},
                                                 {"one-feature-after", {3, 66}, 3, 1, 5, after},
                                                 {"one-of-width", {3, 66}, 3, 5, 1, after},
                                                 {"one-number", {4}, 2, 1, 1, all},
                                                 {"denominators", {1, 67, 0, 4}, 2, 7, 0, before},
                                                 {"denominators-after", {65}, 3, 16, 0, after},
                                                 {"denominators-all", {5, 66}, 2, 33, 0, all}}) {
    const Segments segments = Segments::from_lengths(c.lengths);
    const Shape shape{segments.tokens(), c.heads * c.features};
    std::vector<Input> inputs{{"q", shape}, {"k", shape}};
    if (c.width > 0) inputs.push_back({"v", {segments.tokens(), c.heads * c.width}});
    add_case(rows, "linear_attention_scan/" + c.variant, inputs, [=](const Vars& in) {
      return linear_attention_scan(in[0], in[1], c.width > 0 ? in[2] : Var(), segments, c.heads, c.direction);
    });
  }
}

OpCase favor_case(const std::string& variant, int64_t n, int heads, int64_t width, int64_t features, FavorSide side) {
  return make_case(
      "favor_features/" + variant, {{"x", {n, heads * width}, 0.7}, parameter("w", {features, width})},
      [=](const Vars& in) { return favor_features(head_matmul(in[0], in[1], heads), in[0], heads, side); });
}

}  // namespace

void add_linear_attention(std::vector<OpCase>& rows) {
  add_sums(rows);
  add_case(rows, "head_divide", {{"a", {67, 3 * 19}}, parameter("b", {67, 3}, 0.1, 2)},
           [](const Vars& in) { return head_divide(in[0], in[1], 0.25); });
  for (const auto& [variant, shape, heads] :
       {std::tuple("odd-sizes", Shape{65, 3 * 17}, 3), std::tuple("one-feature", Shape{3, 2}, 2),
        std::tuple("no-rows", Shape{0, 8}, 2)}) {
    add_case(rows, concat("head_softmax/", variant), {{"x", shape, 2}},
             [heads = heads](const Vars& in) { return head_softmax(in[0], heads); });
  }
  add_case(rows, "head_matmul", {{"x", {7, 2 * 17}}, parameter("w", {11, 17})},
           [](const Vars& in) { return head_matmul(in[0], in[1], 2); });
  rows.push_back(favor_case("queries", 9, 2, 8, 13, FavorSide::queries));
  rows.push_back(favor_case("keys", 9, 2, 8, 13, FavorSide::keys));
  rows.push_back(favor_case("wide", 3, 1, 33, 70, FavorSide::keys));
}

}  // namespace gyre::op_rows
