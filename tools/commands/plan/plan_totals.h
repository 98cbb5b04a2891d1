// The time and the memory of a whole run, from the steps that are planned for each of its stages.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gyre/core/io/json.h"
#include "tools/workload/plan.h"

namespace gyre {

class PlanTotals {
 public:
  // Adds a stage. `steps`: a row for each number of ranks. `updates`: for each row; with weak scaling, a number of
  // tokens takes fewer updates on more ranks. Throws an Error if the number of rows differs from that of the stages
  // before.
  void add(const std::vector<PlanRow>& steps, const std::vector<uint64_t>& updates);
  Json json() const;
  void print(const char* unit) const;  // unit: "ranks" or "GPUs"

 private:
  struct Total {
    int ranks = 1;
    uint64_t updates = 0;
    double memory = 0;   // bytes per rank, in the stage that needs most
    double seconds = 0;  // time of all updates, without validation and saving
  };

  // The number of updates, if it is the same for all rows.
  std::optional<uint64_t> common_updates() const;

  std::vector<Total> totals_;
};

}  // namespace gyre
