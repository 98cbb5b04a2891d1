#include "gyre/train/parallel/shared_memory/machines.h"

#include <algorithm>
#include <map>
#include <utility>

namespace gyre {

Machines::Machines(std::vector<int> machine_of) : machine_of_(std::move(machine_of)) {
  std::map<int, int> numbers;
  for (int rank = 0; rank < int(machine_of_.size()); ++rank) {
    int& machine = machine_of_[size_t(rank)];
    machine = numbers.emplace(machine, int(numbers.size())).first->second;
    ranks_.resize(numbers.size());
    ranks_[size_t(machine)].push_back(rank);
  }
}

int Machines::index_of(int rank) const {
  const std::vector<int>& ranks = ranks_of(machine_of(rank));
  return int(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

int Machines::agent(int machine, int rank) const {
  const std::vector<int>& ranks = ranks_of(machine);
  return ranks[size_t(index_of(rank)) % ranks.size()];
}

}  // namespace gyre
