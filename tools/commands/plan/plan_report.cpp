#include "tools/commands/plan/plan_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"

namespace gyre {

Json to_json(const PlanReportRow& row) {
  const PlanRow& plan = row.plan;
  return {{"ranks", plan.ranks},
          {"micro_batches", plan.micro_batches},
          {"memory_mib", rounded(plan.memory() / kMebibyte)},
          {"weights_mib", rounded(plan.weights / kMebibyte)},
          {"gradients_mib", rounded(plan.gradients / kMebibyte)},
          {"optimizer_mib", rounded(plan.state / kMebibyte)},
          {"activations_mib", rounded(plan.activations / kMebibyte)},
          {"step_seconds", rounded(plan.step())},
          {"compute_seconds", rounded(plan.compute)},
          {"optimizer_seconds", rounded(plan.optimizer)},
          {"exchange_seconds", rounded(plan.exchange)},
          {"exposed_seconds", rounded(plan.exposed)},
          {"tokens_per_second", rounded(row.tokens / plan.step())},
          {"efficiency", rounded(row.efficiency)}};
}

void print_rows(const std::vector<PlanReportRow>& rows) {
  std::printf("%6s %12s %10s %10s %12s %12s %12s\n", "ranks", "MiB/rank", "step s", "exchange s", "exposed s",
              "tokens/s", "efficiency");
  for (const PlanReportRow& row : rows) {
    std::printf("%6d %12.0f %10.4g %10.4g %12.4g %12.6g %11.1f%%\n", row.plan.ranks, row.plan.memory() / kMebibyte,
                row.plan.step(), row.plan.exchange, row.plan.exposed, row.tokens / row.plan.step(),
                100 * row.efficiency);
  }
}

}  // namespace gyre
