#include "gyre/train/parallel/shared_memory/routes.h"

#include <utility>

namespace gyre {

Routes::Routes(Machines machines, int rank)
    : machines_(std::move(machines)), rank_(rank), machine_(machines_.machine_of(rank)) {}

std::vector<std::vector<ElementRange>> Routes::shares(const std::vector<int64_t>& ends) const {
  std::vector<std::vector<ElementRange>> shares(members().size());
  int64_t begin = 0;
  for (int rank = 0; rank < int(ends.size()); ++rank) {
    const ElementRange slice{begin, ends[size_t(rank)]};
    begin = slice.end;
    if (slice.size() > 0) shares[size_t(machines_.index_of(machines_.agent(machine_, rank)))].push_back(slice);
  }
  return shares;
}

}  // namespace gyre
