#include "tools/commands/plan/plan_totals.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "gyre/core/counted.h"
#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/train/log/progress.h"
#include "tools/workload/bench_metrics.h"

namespace gyre {

void PlanTotals::add(const std::vector<PlanRow>& steps, const std::vector<uint64_t>& updates) {
  if (totals_.empty()) totals_.resize(steps.size());
  require(totals_.size() == steps.size() && updates.size() == steps.size(), "[plan] expected ", totals_.size(),
          " numbers of ranks in every stage, got ", steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    Total& total = totals_[i];
    total.ranks = steps[i].ranks;
    total.updates += updates[i];
    total.memory = std::max(total.memory, steps[i].memory());
    total.seconds += double(updates[i]) * steps[i].step();
  }
}

std::optional<uint64_t> PlanTotals::common_updates() const {
  const uint64_t first = totals_.front().updates;
  const bool same = std::ranges::all_of(totals_, [first](const Total& total) { return total.updates == first; });
  return same ? std::optional(first) : std::nullopt;
}

Json PlanTotals::json() const {
  Json run = Json::object();
  if (const auto updates = common_updates()) run["updates"] = *updates;
  for (const Total& total : totals_) {
    run["rows"].push_back({{"ranks", total.ranks},
                           {"updates", total.updates},
                           {"memory_mib", rounded(total.memory / kMebibyte)},
                           {"hours", rounded(total.seconds / 3600)}});
  }
  return run;
}

void PlanTotals::print(const char* unit) const {
  const auto updates = common_updates();
  std::printf("\nthe whole run: %s, without validation and saving\n",
              updates ? counted(*updates, "update").c_str() : "fewer updates on more ranks");
  std::printf("%6s %12s %12s %16s %14s\n", unit, "updates", "MiB each", "time", concat(unit, " x days").c_str());
  for (const Total& total : totals_) {
    std::printf("%6d %12s %12.0f %16s %14.3g\n", total.ranks, std::to_string(total.updates).c_str(),
                total.memory / kMebibyte, format_duration(total.seconds).c_str(), total.seconds * total.ranks / 86400);
  }
}

}  // namespace gyre
