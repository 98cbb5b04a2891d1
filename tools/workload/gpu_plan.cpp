#include "tools/workload/gpu_plan.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace gyre {
namespace {

// All GPUs of a node take part in its traffic with other nodes, each through its own adapter.
PlanRates rates_between(const GpuModel& model, int gpus) {
  PlanRates rates;
  const bool one_node = gpus <= model.node_gpus;
  const double adapters = model.network * std::min(gpus, model.node_gpus);
  rates.link = model.link_share * (one_node ? model.node_link : std::min(model.node_link, adapters));
  rates.latency = one_node ? model.node_latency : model.network_latency;
  rates.trees = true;
  return rates;
}

class Planner {
 public:
  Planner(const GpuJob& job, const GpuModel& model) : job_(job), model_(model) {}

  GpuPlanRow plan(int gpus) {
    const double tokens = tokens_of_rank(job_.load, gpus, job_.scaling);
    GpuPlanRow row;
    row.forecast = forecast(tokens / job_.load.micro_batches_per_rank);
    row.tokens = tokens * gpus;
    row.plan = plan_row(job_.load, rates_between(model_, gpus),
                        cost(row.forecast, job_.load.micro_batches_per_rank, gpus), gpus, tokens);
    row.fitting_micro_batches = fitting(row.plan, tokens, gpus);
    return row;
  }

 private:
  int items(double tokens) const { return std::max(1, int(std::lround(tokens / job_.item_tokens))); }

  const GpuForecast& forecast(double tokens) {
    const int count = items(tokens);
    auto found = forecasts_.find(count);
    if (found == forecasts_.end()) {
      const auto make = [&](Device device) { return job_.make(count, device); };
      found = forecasts_.emplace(count, forecast_step(make, job_.optimizer, job_.precision, model_)).first;
    }
    return found->second;
  }

  RankCost cost(const GpuForecast& step, int micro_batches, int gpus) const {
    RankCost cost;
    cost.compute = micro_batches * (step.step_seconds - step.optimizer_seconds);
    cost.optimizer = step.optimizer_seconds;
    cost.hiding = step.backward_seconds;
    cost.activations = step.peak_bytes - step.kept_bytes;
    cost.reserved = step.pool_bytes - step.peak_bytes + model_.reserved + (gpus > 1 ? model_.nccl_buffers : 0);
    return cost;
  }

  int fitting(PlanRow row, double tokens, int gpus) {
    for (int count = job_.load.micro_batches_per_rank;; count *= 2) {
      const RankCost smaller = cost(forecast(tokens / count), count, gpus);
      row.activations = smaller.activations;
      row.reserved = smaller.reserved;
      if (row.memory() <= model_.memory) return count;
      if (items(tokens / count) == 1) return 0;
    }
  }

  const GpuJob& job_;
  const GpuModel& model_;
  std::map<int, GpuForecast> forecasts_;  // by the number of items
};

}  // namespace

std::vector<GpuPlanRow> plan_gpus(const GpuJob& job, const GpuModel& model, const std::vector<int>& gpus) {
  Planner planner(job, model);
  std::vector<GpuPlanRow> rows;
  for (const int count : gpus) rows.push_back(planner.plan(count));
  return rows;
}

}  // namespace gyre
