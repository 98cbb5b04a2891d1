#include "tools/commands/plan/plan_totals.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "gyre/core/counted.h"
#include "gyre/core/error.h"
#include "gyre/train/log/progress.h"
#include "tools/workload/bench_metrics.h"

namespace gyre {

void PlanTotals::add(const std::vector<PlanRow>& steps, uint64_t updates) {
  if (totals_.empty()) totals_.resize(steps.size());
  require(totals_.size() == steps.size(), "[plan] expected ", totals_.size(), " numbers of ranks in every stage, got ",
          steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    Total& total = totals_[i];
    total.ranks = steps[i].ranks;
    total.memory = std::max(total.memory, steps[i].memory());
    total.seconds += double(updates) * steps[i].step();
  }
  updates_ += updates;
}

nlohmann::ordered_json PlanTotals::json() const {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Total& total : totals_) {
    rows.push_back({{"ranks", total.ranks},
                    {"memory_mib", rounded(total.memory / kMebibyte)},
                    {"hours", rounded(total.seconds / 3600)}});
  }
  return rows;
}

void PlanTotals::print(const char* unit) const {
  std::printf("\nthe whole run: %s, without validation and saving\n", counted(updates_, "update").c_str());
  std::printf("%6s %12s %16s %14s\n", unit, "MiB each", "time", concat(unit, " x days").c_str());
  for (const Total& total : totals_) {
    std::printf("%6d %12.0f %16s %14.3g\n", total.ranks, total.memory / kMebibyte,
                format_duration(total.seconds).c_str(), total.seconds * total.ranks / 86400);
  }
}

}  // namespace gyre
