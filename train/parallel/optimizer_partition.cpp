#include "gyre/train/parallel/optimizer_partition.h"

#include <algorithm>
#include <utility>

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

PackedRanges::PackedRanges(std::vector<ElementRange> ranges) : ranges_(std::move(ranges)) {
  for (const ElementRange& range : ranges_) {
    begins_.push_back(elements_);
    elements_ += range.size();
  }
}

int64_t PackedRanges::position(int64_t element) const {
  const auto past = std::upper_bound(ranges_.begin(), ranges_.end(), element,
                                     [](int64_t at, const ElementRange& range) { return at < range.begin; });
  const auto index = size_t(past - ranges_.begin()) - 1;
  return begins_[index] + element - ranges_[index].begin;
}

}  // namespace gyre
