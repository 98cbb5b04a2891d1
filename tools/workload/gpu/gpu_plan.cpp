#include "tools/workload/gpu/gpu_plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "gyre/train/log/progress.h"

namespace gyre {
namespace {

// The largest batch on the virtual GPU. The shares of rounding and of launches in the step of a larger one are
// negligible, so that it is extrapolated in proportion.
constexpr double kMostTokens = 1 << 20;
constexpr int kMostMicroBatches = 65536;  // limit of a GPU, as --optimizer-delay accepts

// All GPUs of a node take part in its traffic with other nodes, each through its own adapter.
PlanRates rates_between(const GpuModel& model, int gpus, bool on_cpu) {
  PlanRates rates;
  const bool one_node = gpus <= model.node_gpus;
  const double adapters = model.network * std::min(gpus, model.node_gpus);
  rates.latency = one_node ? model.node_latency : model.network_latency;
  if (on_cpu) {
    rates.link = one_node ? model.host_sum : std::min(model.host_sum, model.link_share * adapters);
    rates.host_copy = model.host_copy;
  } else {
    rates.link = model.link_share * (one_node ? model.node_link : std::min(model.node_link, adapters));
    rates.trees = true;
  }
  return rates;
}

class Planner {
 public:
  Planner(const GpuJob& job, const GpuModel& model) : job_(job), model_(model) {}

  GpuPlanRow plan(int gpus) {
    const RankShare share = share_of_rank(job_.load, gpus, job_.scaling);
    GpuPlanRow row;
    row.forecast = with_micro_batches(forecast(share.micro_batch_tokens), share.micro_batches);
    row.tokens = tokens_of_step(job_.load, gpus, job_.scaling);
    if (share.micro_batch_tokens > kMostTokens) row.extrapolated_from = items(kMostTokens) * job_.load.item_tokens;
    row.plan = plan_row(job_.load, rates_between(model_, gpus, job_.load.parallel.deterministic),
                        cost(row.forecast, share.micro_batches, gpus), gpus, row.tokens, share.micro_batches);
    row.fitting_micro_batches = fitting(row.plan, share, row.tokens / gpus);
    return row;
  }

 private:
  int items(double tokens) const {
    return std::max(1, int(std::lround(std::min(tokens, kMostTokens) / job_.load.item_tokens)));
  }

  // Predicts a step with one micro-batch of this many tokens, and keeps the prediction.
  GpuForecast forecast(double tokens) {
    const int count = items(tokens);
    auto found = forecasts_.find(count);
    if (found == forecasts_.end()) {
      const auto make = [&](Device device) { return job_.make(count, device); };
      found = forecasts_.emplace(count, forecast_step(make, job_.optimizer, job_.precision, model_)).first;
    }
    return tokens > kMostTokens ? extrapolated(found->second, tokens / found->second.tokens) : found->second;
  }

  // Memory of sums that NCCL's all-reduce does not add in place (train/parallel/gpu_transport.h).
  double exchange_bytes() const {
    const ParallelOptions& o = job_.load.parallel;
    const bool in_place = o.gradient_dtype == "fp32" && o.zero == 0;
    return in_place ? 0 : std::min(job_.load.bucket_bytes, gradient_bytes(job_.load, 1, 1));
  }

  // step: with all micro-batches.
  RankCost cost(const GpuForecast& step, int micro_batches, int gpus) const {
    const bool has_nccl = gpus > 1 && !job_.load.parallel.deterministic;
    RankCost cost;
    cost.compute = step.step_seconds - step.optimizer_seconds;
    cost.optimizer = step.optimizer_seconds;
    cost.hiding = step.backward_seconds / micro_batches;
    cost.activations = step.peak_bytes - step.kept_bytes;
    cost.reserved =
        step.pool_bytes - step.peak_bytes + model_.reserved + (has_nccl ? model_.nccl_buffers + exchange_bytes() : 0);
    return cost;
  }

  int fitting(PlanRow row, const RankShare& share, double tokens) {
    for (int count = share.micro_batches; count <= kMostMicroBatches; count *= 2) {
      const double micro_batch = count == share.micro_batches ? share.micro_batch_tokens : tokens / count;
      const RankCost smaller = cost(forecast(micro_batch), 1, row.ranks);
      row.activations = smaller.activations;
      row.reserved = smaller.reserved;
      row.gradients = gradient_bytes(job_.load, row.ranks, count);
      if (row.memory() <= model_.memory) return count;
      if (items(micro_batch) == 1) return 0;
    }
    return 0;
  }

  const GpuJob& job_;
  const GpuModel& model_;
  std::map<int, GpuForecast> forecasts_;  // forecasts by the number of items
};

}  // namespace

std::vector<GpuPlanRow> plan_gpus(const GpuJob& job, const GpuModel& model, const std::vector<int>& gpus) {
  Planner planner(job, model);
  std::vector<GpuPlanRow> rows;
  WorkProgress progress("rows", int64_t(gpus.size()));
  for (const int count : gpus) {
    progress.show(int64_t(rows.size()));
    rows.push_back(planner.plan(count));
  }
  return rows;
}

}  // namespace gyre
