// The machines on which the ranks of a job run.
#pragma once

#include <cstddef>
#include <vector>

namespace gyre {

class Machines {
 public:
  // `machine_of`: by rank, a number that only the ranks of one machine have in common.
  explicit Machines(std::vector<int> machine_of);
  int ranks() const { return int(machine_of_.size()); }
  int count() const { return int(ranks_.size()); }  // machines, in the order of their first ranks
  int machine_of(int rank) const { return machine_of_[size_t(rank)]; }
  const std::vector<int>& ranks_of(int machine) const { return ranks_[size_t(machine)]; }  // ranks in ascending order
  int index_of(int rank) const;  // among the ranks of its machine
  // The rank of `machine` that exchanges what concerns `rank` with other machines: `rank` itself on its own machine.
  int agent(int machine, int rank) const;

 private:
  std::vector<int> machine_of_;
  std::vector<std::vector<int>> ranks_;
};

}  // namespace gyre
