#include <algorithm>

#include "gyre/autograd/gradcheck/op_cases/rows.h"

namespace gyre::op_rows {
namespace {

OpCase rope_case(const std::string& variant, const Rotary& rotary, int64_t width, const Ints& positions) {
  const int64_t n = int64_t(positions.size());
  return make_case(
      "rope/" + variant, {{"x", {n, rotary.heads * width}}, parameter("frequencies", {rotary.dims / 2}, 0.3, 0.5)},
      [=](Tape&, const Vars& in) {
        const int64_t angles = *std::max_element(positions.begin(), positions.end()) + 1;
        return rope(in[0], make_rotation(in[1], angles, rotary), ids_tensor(positions));
      },
      [=](const Values& in) { return reference::rope(in[0], in[1], positions, rotary); });
}

Ints first_positions(int32_t n) {
  Ints positions;
  for (int32_t i = 0; i < n; ++i) positions.push_back(i);
  return positions;
}

}  // namespace

void add_rope(std::vector<OpCase>& rows) {
  using enum RotaryPairs;
  rows.push_back(rope_case("interleaved", {.heads = 2, .dims = 6, .pairs = interleaved}, 6, first_positions(7)));
  rows.push_back(rope_case("half-split", {.heads = 2, .dims = 6, .pairs = half_split}, 6, first_positions(7)));
  rows.push_back(rope_case("partial", {.heads = 3, .dims = 4, .pairs = interleaved}, 7, first_positions(5)));
  rows.push_back(rope_case("partial-half-split", {.heads = 3, .dims = 4, .pairs = half_split}, 7, first_positions(5)));
  // Several sentences in a batch, one of them the continuation of an earlier text.
  rows.push_back(rope_case("offsets", {.heads = 1, .dims = 4, .pairs = half_split}, 4, {0, 1, 2, 57, 58, 0, 1}));
  rows.push_back(rope_case("one-token", {.heads = 1, .dims = 2, .pairs = interleaved}, 2, {3}));
  rows.push_back(
      rope_case("magnitude", {.heads = 2, .dims = 4, .pairs = half_split, .magnitude = 1.3}, 5, first_positions(6)));
  rows.push_back(rope_case("step", {.heads = 2, .dims = 4, .position_scale = 0.37}, 5, first_positions(6)));
  rows.push_back(rope_case("frequencies", {.heads = 5, .dims = 32, .pairs = interleaved}, 33, first_positions(129)));
}

}  // namespace gyre::op_rows
