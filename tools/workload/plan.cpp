#include "tools/workload/plan.h"

#include <algorithm>
#include <cmath>

namespace gyre {
namespace {

constexpr double kElement = 4;         // fp32
constexpr double kBackward = 2.0 / 3;  // share of the computation
// Adam reads and writes the weights and both moments, reads the gradient and zeroes it.
constexpr double kOptimizerBytes = 8 * kElement;

// Time of one half of an all-reduce (reduce-scatter or all-gather): each rank sends (R - 1) / R of the bytes.
double half_all_reduce_seconds(double bytes, double buckets, int ranks, const PlanRates& rates) {
  const double messages = rates.trees ? std::ceil(std::log2(ranks)) : ranks - 1;
  return bytes * (ranks - 1) / ranks / rates.link + buckets * messages * rates.latency;
}

// Expected number of elements in the table rows that `tokens` random tokens look up.
double looked_up_elements(const std::vector<PlanLoad::Table>& tables, double tokens) {
  double elements = 0;
  for (const auto& [rows, width] : tables) elements += double(rows * width) * -std::expm1(-tokens / double(rows));
  return elements;
}

}  // namespace

double tokens_of_rank(const PlanLoad& load, int ranks, Scaling scaling) {
  return scaling == Scaling::weak ? load.tokens : load.tokens / ranks;
}

RankCost cost_at_rates(const PlanLoad& load, const PlanRates& rates, double tokens) {
  RankCost cost;
  cost.compute = tokens * load.flops_per_token / rates.flops;
  cost.hiding = kBackward * cost.compute / load.micro_batches_per_rank;
  cost.optimizer = double(load.parameters) * kOptimizerBytes / rates.memory;
  cost.activations = tokens / load.micro_batches_per_rank * load.activations_per_token;
  return cost;
}

PlanRow plan_row(const PlanLoad& load, const PlanRates& rates, const RankCost& cost, int ranks, double tokens) {
  const double elements = double(load.parameters), own = load.zero ? elements / ranks : elements;
  PlanRow row{.ranks = ranks};
  row.weights = row.gradients = elements * kElement;
  row.state = own * kElement * load.state_arenas;
  row.activations = cost.activations;
  row.reserved = cost.reserved;
  row.compute = cost.compute;
  row.optimizer = cost.optimizer * own / elements;
  if (ranks == 1) return row;

  const auto half = [&](double bytes) {
    return half_all_reduce_seconds(bytes, std::max(1.0, bytes / load.bucket_bytes), ranks, rates);
  };
  const double gradients = elements * load.comm_dtype_bytes,
               last = double(load.last_parameters) * load.comm_dtype_bytes;
  const double rows = looked_up_elements(load.tables, tokens * ranks) * load.comm_dtype_bytes;
  const double halves = load.zero ? 1 : 2;
  const double weights = load.zero ? half(elements * kElement) : 0;
  row.exchange = halves * half(gradients) + 2 * half(rows) + weights;
  // The exchange overlaps only with backward of a rank's last micro-batch.
  const double early = halves * half(gradients - last), late = halves * half(last) + 2 * half(rows);
  row.exposed = std::max(0.0, early - cost.hiding) + late + weights;
  return row;
}

PlanRow plan_step(const PlanLoad& load, const PlanRates& rates, int ranks, Scaling scaling) {
  const double tokens = tokens_of_rank(load, ranks, scaling);
  return plan_row(load, rates, cost_at_rates(load, rates, tokens), ranks, tokens);
}

}  // namespace gyre
