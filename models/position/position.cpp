#include "models/position/position.h"

#include <algorithm>

namespace gyre {

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
  const int32_t largest = *std::max_element(all.begin(), all.end());
  require(largest < limit, "[", encoding, "] expected at most max_positions = ", limit, " tokens in a sentence, got ",
          largest + 1);
}

}  // namespace gyre
