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
  return bytes * (ranks - 1) / ranks / rates.link + buckets * (ranks - 1) * rates.latency;
}

// Expected number of elements in the table rows that `tokens` random tokens look up.
double looked_up_elements(const std::vector<PlanLoad::Table>& tables, double tokens) {
  double elements = 0;
  for (const auto& [rows, width] : tables) elements += double(rows * width) * -std::expm1(-tokens / double(rows));
  return elements;
}

}  // namespace

PlanRow plan_step(const PlanLoad& load, const PlanRates& rates, int ranks, Scaling scaling) {
  const double elements = double(load.parameters), own = load.zero ? elements / ranks : elements;
  const double tokens = scaling == Scaling::weak ? load.tokens : load.tokens / ranks;  // per rank
  PlanRow row{.ranks = ranks};
  row.weights = row.gradients = elements * kElement;
  row.state = own * kElement * load.state_arenas;
  row.activations = tokens / load.micro_batches_per_rank * load.activations_per_token;
  row.compute = tokens * load.flops_per_token / rates.flops;
  row.optimizer = own * kOptimizerBytes / rates.memory;
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
  const double hidden = kBackward * row.compute / load.micro_batches_per_rank;
  const double early = halves * half(gradients - last), late = halves * half(last) + 2 * half(rows);
  row.exposed = std::max(0.0, early - hidden) + late + weights;
  return row;
}

}  // namespace gyre
