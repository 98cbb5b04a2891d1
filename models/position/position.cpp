#include "gyre/models/position/position.h"

#include <algorithm>
#include <cmath>

namespace gyre {

Init PositionContext::table_init() const {
  return Init::normal(initial_deviation > 0 ? initial_deviation : 1 / std::sqrt(double(dim)));
}

Init PositionContext::projection_init() const {
  return initial_deviation > 0 ? Init::normal(initial_deviation) : Init::xavier(dim, dim);
}

Tensor segment_positions(const Segments& segments, int offset) {
  Tensor positions = Tensor::empty({segments.tokens()}, DType::i32);
  int32_t* p = positions.data<int32_t>();
  for (int i = 0; i < segments.count(); ++i)
    for (int row = segments.begin(i); row < segments.end(i); ++row) p[row] = int32_t(offset + row - segments.begin(i));
  return positions;
}

void check_positions(const char* encoding, const Tensor& positions, int64_t limit) {
  const auto all = positions.span<int32_t>();
  if (all.empty()) return;
  check_length(encoding, int64_t{*std::max_element(all.begin(), all.end())} + 1, limit);
}

void check_length(const char* encoding, int64_t length, int64_t limit) {
  require(length <= limit, "[", encoding, "] expected at most max_positions = ", limit, " tokens in a sentence, got ",
          length);
}

}  // namespace gyre
