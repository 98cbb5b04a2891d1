// The time and the memory of a whole run, from the steps that are planned for each of its stages.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tools/workload/plan.h"

namespace gyre {

class PlanTotals {
 public:
  // Adds a stage of `updates` updates. `steps`: a row for each number of ranks. Throws an Error if the number of rows
  // differs from that of the stages before.
  void add(const std::vector<PlanRow>& steps, uint64_t updates);
  uint64_t updates() const { return updates_; }
  nlohmann::ordered_json json() const;
  void print(const char* unit) const;  // unit: "ranks" or "GPUs"

 private:
  struct Total {
    int ranks = 1;
    double memory = 0;   // bytes per rank, in the stage that needs most
    double seconds = 0;  // of all updates, without validation and saving
  };

  std::vector<Total> totals_;
  uint64_t updates_ = 0;
};

}  // namespace gyre
