#include "tools/workload/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gyre/core/clock.h"
#include "gyre/core/error.h"
#include "gyre/train/parallel/all_reduce.h"
#include "gyre/train/parallel/reducer.h"
#include "gyre/train/parallel/tree_reduction.h"
#include "tools/summary.h"
#include "tools/workload/device.h"

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

// The most subtrees whose sums a rank sends.
double parts_of_rank(const ParallelOptions& o, int ranks) {
  if (!o.deterministic) return 1;
  const int micro_batches = o.micro_batches_on(ranks);
  size_t most = 1;
  for (int rank = 0; rank < ranks; ++rank) {
    const MicroBatchRange own = micro_batches_of_rank(micro_batches, ranks, rank);
    most = std::max(most, maximal_subtrees(micro_batches, own).size());
  }
  return double(most);
}

// Expected number of elements in the table rows that `tokens` random tokens look up.
double looked_up_elements(const std::vector<PlanLoad::Table>& tables, double tokens) {
  double elements = 0;
  for (const auto& [rows, width] : tables) elements += double(rows * width) * -std::expm1(-tokens / double(rows));
  return elements;
}

}  // namespace

double tokens_of_step(const PlanLoad& load, int ranks, Scaling scaling) {
  const double batch = std::max(load.tokens, load.item_tokens);
  return scaling == Scaling::weak ? batch * ranks : batch;
}

RankShare share_of_rank(const PlanLoad& load, int ranks, Scaling scaling) {
  const ParallelOptions& o = load.parallel;
  const double micro_batches = o.fixes_micro_batches() ? o.micro_batches_on(ranks) : double(ranks) * o.accumulation;
  if (micro_batches < ranks) {
    throw UsageError("[--micro-batches] expected at least one micro-batch for each of ", ranks, " ranks, got ",
                     micro_batches);
  }
  const double tokens = tokens_of_step(load, ranks, scaling);
  const double filled = std::min(micro_batches, std::ceil(tokens / load.item_tokens));
  return {int(std::ceil(filled / ranks)), tokens / filled};
}

double gradient_bytes(const PlanLoad& load, int ranks, int micro_batches) {
  // The sums over the first n micro-batches of a tree, when the next one is added to them.
  int sums = 0;
  for (int n = 0; load.parallel.deterministic && n + 1 < micro_batches; ++n)
    sums = std::max(sums, std::popcount(unsigned(n)) + 1);
  const double whole = kElement * double(load.parameters);
  if (load.parallel.zero < 2 || ranks == 1) return whole * (1 + sums);
  // The buckets that are exchanged, the parameters of the next one, and the parameter that backward works on.
  const double in_use =
      (GradientReducer::kMostInFlight + 1) * load.bucket_bytes + kElement * double(load.largest_parameter);
  return whole / ranks + (sums > 0 ? sums * whole : std::min(whole, in_use));
}

RankCost cost_at_rates(const PlanLoad& load, const PlanRates& rates, const RankShare& share) {
  RankCost cost;
  cost.compute = share.tokens() * load.flops_per_token / rates.flops;
  cost.hiding = kBackward * cost.compute / share.micro_batches;
  cost.optimizer = double(load.parameters) * kOptimizerBytes / rates.memory + load.optimizer_flops / rates.flops;
  cost.activations = share.micro_batch_tokens * load.activations_per_token;
  return cost;
}

PlanRow plan_row(const PlanLoad& load, const PlanRates& rates, const RankCost& cost, int ranks, double tokens,
                 int micro_batches) {
  const bool zero = load.parallel.zero >= 1;
  const double elements = double(load.parameters), own = zero ? elements / ranks : elements;
  PlanRow row{.ranks = ranks, .micro_batches = micro_batches};
  row.weights = elements * kElement;
  row.gradients = gradient_bytes(load, ranks, micro_batches);
  row.state = load.state_elements * kElement * own / elements;
  row.activations = cost.activations;
  row.reserved = cost.reserved;
  row.compute = cost.compute;
  row.optimizer = cost.optimizer * own / elements;
  if (ranks == 1) return row;

  const double sent = double(dtype_bytes(dtype_of(load.parallel.gradient_dtype)));  // bytes per element
  const auto half = [&](double n, double element_bytes) {
    if (n == 0) return 0.0;
    const double buckets = std::max(1.0, n * kElement / load.bucket_bytes);
    return half_all_reduce_seconds(n * element_bytes, buckets, ranks, rates);
  };
  const double parts = parts_of_rank(load.parallel, ranks);
  // A reduce-scatter of gradients and, unless a rank keeps only its own sums, an all-gather.
  const auto sum = [&](double n) { return half(n, parts * sent) + (zero ? 0 : half(n, sent)); };
  const auto last = double(load.last_parameters);
  // With sharded gradients, every micro-batch is reduced.
  const int reductions = load.parallel.zero == 2 && !load.parallel.deterministic ? micro_batches : 1;
  const double rows = looked_up_elements(load.tables, tokens / reductions);
  const double rows_seconds = 2 * half(rows, sent), weights = zero ? half(elements, kElement) : 0;
  // The parts go to the CPU, and the sums and, with ZeRO, the weights come back.
  const double copied = (parts + (zero ? 3 : 1)) * elements * kElement;
  const double copies = rates.host_copy > 0 ? copied / rates.host_copy : 0;
  row.exchange = reductions * (sum(elements) + rows_seconds) + weights + copies;
  // The exchange overlaps only with backward of the micro-batch that is reduced, or of a rank's last one.
  const double exposed = std::max(0.0, sum(elements - last) - cost.hiding) + sum(last) + rows_seconds;
  row.exposed = reductions * exposed + weights + copies;
  return row;
}

PlanRow plan_step(const PlanLoad& load, const PlanRates& rates, int ranks, Scaling scaling) {
  const RankShare share = share_of_rank(load, ranks, scaling);
  return plan_row(load, rates, cost_at_rates(load, rates, share), ranks, tokens_of_step(load, ranks, scaling),
                  share.micro_batches);
}

namespace {

constexpr int kSteps = 3;

// Counts the parameter elements whose gradients become final after the last matrix product of backward.
class LastParameters final : public TapeObserver {
 public:
  void before_backward(const Tape& tape, int node) override {
    if (tape.nodes()[size_t(node)].op->flops() > 0) elements_ = 0;
  }
  void on_parameter_ready(Parameter& p) override { elements_ += p.shape.elements(); }
  int64_t elements() const { return elements_; }

 private:
  int64_t elements_ = 0;
};

}  // namespace

double run_step(const Workload& work, Kernels& kernels, Precision precision, TapeObserver* observer) {
  Tape tape(kernels, {.record = true,
                      .training = true,
                      .seed = 1,
                      .precision = precision,
                      .loss_seeded = true,
                      .recompute = work.recompute()});
  const LossResult result = work.loss(tape);
  if (observer != nullptr) tape.add_observer(*observer);
  tape.backward(result.loss);
  return kTrainingFlopsFactor * tape.flops();
}

PlanLoad measure_load(const Workload& work, Parameters& parameters, Kernels& kernels, Precision precision,
                      int64_t tokens, bool sparse_rows) {
  PlanLoad load;
  LastParameters last;
  std::vector<SparseGradient> rows;
  for (Parameter& p : parameters) {
    if (!p.is_table || !sparse_rows) continue;
    load.tables.push_back({p.shape[0], p.shape[1]});
    p.sparse_gradients = &rows;
  }
  const double before = double(tensor_memory(kernels.device()).active_bytes);
  load.flops_per_token = run_step(work, kernels, precision, &last) / double(tokens);
  load.activations_per_token = (double(tensor_memory(kernels.device()).peak_bytes) - before) / double(tokens);
  load.parameters = parameters.values().size();
  load.last_parameters = last.elements();
  for (const Parameter& p : parameters) load.largest_parameter = std::max(load.largest_parameter, p.shape.elements());
  for (Parameter& p : parameters) p.sparse_gradients = nullptr;
  parameters.gradients().zero();
  return load;
}

double measure_step_flops(const Workload& work, Kernels& kernels, Precision precision) {
  std::vector<double> rates;
  for (int i = 0; i < kSteps; ++i) {
    const Stopwatch watch;
    const double flops = run_step(work, kernels, precision, nullptr);
    rates.push_back(flops / watch.seconds());
  }
  return median(rates);
}

}  // namespace gyre
