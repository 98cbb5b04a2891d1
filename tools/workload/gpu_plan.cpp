#include "tools/workload/gpu_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "gyre/train/log/console.h"
#include "gyre/train/optim/update_plan.h"
#include "tools/summary.h"
#include "tools/workload/training_load.h"
#include "tools/workload/workload.h"

namespace gyre {

namespace {

// The largest batch on the virtual GPU. The shares of rounding and of launches in the step of a larger one are
// negligible, so that it is extrapolated in proportion.
constexpr double kMostTokens = 1 << 20;

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

  // Memory of sums that NCCL's all-reduce does not add in place (train/parallel/all_reduce.h).
  double exchange_bytes() const {
    const ParallelOptions& o = job_.load.parallel;
    const bool in_place = o.gradient_dtype == GradientDtype::fp32 && o.zero == 0;
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
    const int most = kMaxMicroBatches / (job_.load.parallel.fixes_micro_batches() ? row.ranks : 1);
    for (int count = share.micro_batches; count <= most; count *= 2) {
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

GpuJob gpu_job(const MakeBatch& make, const TrainOptions& options, double item_tokens, double sides, Scaling scaling) {
  const Precision precision = precision_on(virtual_kernels(), options.device.precision);
  const MakeBatch made = [make, recompute = options.device.recompute, frozen = options.optimizer.frozen](
                             int items, Device device) {
    std::unique_ptr<Workload> work = make(items, device);
    work->set_recompute(recompute);
    freeze(work->parameters(), frozen);
    return work;
  };
  const std::unique_ptr<Workload> work = made(measured_items(item_tokens), kVirtualGpu);
  return {training_load(*work, options, virtual_kernels(), kVirtualGpu, precision, item_tokens, sides), made,
          options.optimizer, precision, scaling};
}

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

std::string fitting_text(const GpuPlanRow& row, const ParallelOptions& options) {
  if (row.fits()) return "yes";
  if (row.fitting_micro_batches == 0) return "no";
  if (options.fixes_micro_batches())
    return concat("no; --micro-batches ", int64_t(row.fitting_micro_batches) * row.plan.ranks, " fits");
  return concat("no; --optimizer-delay ", row.fitting_micro_batches, " fits");
}

Json step_json(const GpuPlanRow& row, const GpuModel& model, Precision precision) {
  const GpuForecast& step = row.forecast;
  const double rate = step.flops / step.step_seconds;
  return {{"micro_batches", row.plan.micro_batches},
          {"tokens_of_gpu", rounded(step.tokens)},
          {"step_ms", rounded(1e3 * step.step_seconds)},
          {"busy_ms", rounded(1e3 * step.busy_seconds)},
          {"host_ms", rounded(1e3 * step.host_seconds)},
          {"launches", step.launches},
          {"host_waits", step.waits},
          {"host_drains", step.drains},
          {"gb_of_passes", rounded(step.bytes / kGiga)},
          {"tflops", rounded(rate / 1e12)},
          {"share_of_products", rounded(rate / model.products(precision))},
          {"peak_tensor_gb", rounded(step.peak_bytes / kGiga)}};
}

Json to_json(const std::vector<GpuPlanRow>& rows) {
  Json list = Json::array();
  // Efficiency is relative to the row with the fewest GPUs.
  const auto fewest = std::min_element(
      rows.begin(), rows.end(), [](const GpuPlanRow& a, const GpuPlanRow& b) { return a.plan.ranks < b.plan.ranks; });
  for (const GpuPlanRow& row : rows) {
    const double rate = row.tokens / row.plan.step();
    const double rate_of_fewest = fewest->tokens / fewest->plan.step() / fewest->plan.ranks;
    list.push_back({{"gpus", row.plan.ranks},
                    {"micro_batches", row.plan.micro_batches},
                    {"memory_gb", rounded(row.plan.memory() / kGiga)},
                    {"weights_gb", rounded(row.plan.weights / kGiga)},
                    {"gradients_gb", rounded(row.plan.gradients / kGiga)},
                    {"optimizer_gb", rounded(row.plan.state / kGiga)},
                    {"activations_gb", rounded(row.plan.activations / kGiga)},
                    {"reserved_gb", rounded(row.plan.reserved / kGiga)},
                    {"extrapolated_from_tokens", rounded(row.extrapolated_from)},
                    {"fits", row.fits()},
                    {"fitting_micro_batches", row.fitting_micro_batches},
                    {"step_seconds", rounded(row.plan.step())},
                    {"compute_seconds", rounded(row.plan.compute)},
                    {"optimizer_seconds", rounded(row.plan.optimizer)},
                    {"exchange_seconds", rounded(row.plan.exchange)},
                    {"exposed_seconds", rounded(row.plan.exposed)},
                    {"tokens_per_second", rounded(rate)},
                    {"efficiency", rounded(rate / rate_of_fewest / row.plan.ranks)}});
  }
  return list;
}

Json to_json(const GpuForecast& forecast) {
  Json list = Json::array();
  for (const ForecastRow& row : forecast.rows)
    list.push_back({{"name", row.name},
                    {"launches", row.launches},
                    {"ms", rounded(1e3 * row.seconds)},
                    {"gb", rounded(row.bytes / kGiga)},
                    {"gflop", rounded(row.flops / kGiga)}});
  return list;
}

void print_rows(const std::vector<GpuPlanRow>& rows, const GpuJob& job) {
  std::printf("\n%6s %9s %10s %12s %12s %12s %11s  %s\n", "GPUs", "GB/GPU", "step ms", "exchange ms", "exposed ms",
              "tokens/s", "efficiency", "fits");
  const Json list = to_json(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto number = [&](const char* name) { return list[i][name].get<double>(); };
    std::printf("%6d %9.3g %10.4g %12.4g %12.4g %12.6g %10.1f%%  %s\n", rows[i].plan.ranks, number("memory_gb"),
                1e3 * number("step_seconds"), 1e3 * number("exchange_seconds"), 1e3 * number("exposed_seconds"),
                number("tokens_per_second"), 100 * number("efficiency"),
                fitting_text(rows[i], job.load.parallel).c_str());
  }
  for (const GpuPlanRow& row : rows) {
    if (row.extrapolated_from > 0)
      std::printf("%d GPUs: the micro-batch is extrapolated from one of %.0f tokens\n", row.plan.ranks,
                  row.extrapolated_from);
  }
}

void print_forecast(const GpuForecast& forecast) {
  std::printf("\n%-52s %9s %9s %7s %10s %10s\n", "one GPU, by op and pass", "launches", "ms", "share", "GB", "GFLOP");
  const auto line = [&](const ForecastRow& row) {
    std::printf("%-52s %9lld %9.3f %6.1f%% %10.2f", row.name.c_str(), static_cast<long long>(row.launches),
                1e3 * row.seconds, 100 * row.seconds / forecast.step_seconds, row.bytes / kGiga);
    if (row.flops > 0) std::printf(" %10.1f", row.flops / kGiga);
    std::printf("\n");
  };
  ForecastRow sum{
      .name = "sum", .launches = forecast.launches, .seconds = forecast.step_seconds, .bytes = forecast.bytes};
  for (const ForecastRow& row : forecast.rows) {
    line(row);
    sum.flops += row.flops;
  }
  line({.name = "waiting for the host", .seconds = forecast.step_seconds - forecast.busy_seconds});
  line(sum);
}

}  // namespace gyre
