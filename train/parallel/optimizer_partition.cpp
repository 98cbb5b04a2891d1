#include "gyre/train/parallel/optimizer_partition.h"

#include <algorithm>

namespace gyre {

std::vector<ElementRange> owned_within(const OptimizerPartition& partition, ElementRange range) {
  std::vector<ElementRange> parts;
  for (const ElementRange& own : partition.owned()) {
    const ElementRange part{std::max(own.begin, range.begin), std::min(own.end, range.end)};
    if (part.begin < part.end) parts.push_back(part);
  }
  return parts;
}

}  // namespace gyre
