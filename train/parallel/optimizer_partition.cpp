#include "gyre/train/parallel/optimizer_partition.h"

#include <algorithm>

namespace gyre {

std::vector<ElementRange> intersection(const std::vector<ElementRange>& a, const std::vector<ElementRange>& b) {
  std::vector<ElementRange> both;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const ElementRange common{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (common.begin < common.end) both.push_back(common);
    a[i].end < b[j].end ? ++i : ++j;
  }
  return both;
}

}  // namespace gyre
