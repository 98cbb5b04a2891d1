// Estimates memory and time of a training job for any number of ranks (gyre plan).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "gyre/train/options.h"
#include "tools/summary.h"
#include "tools/workload/workload.h"

namespace gyre {

// Rates of one rank and of its link.
struct PlanRates {
  double flops = 0;        // FLOP/s of training steps
  double memory = 0;       // bytes/s of the optimizer's passes
  double link = 1.25e9;    // bytes/s in each direction
  double latency = 30e-6;  // seconds per message
  bool trees = false;      // messages go along a tree of the ranks, as NCCL's short ones, and not around a ring
  double host_copy = 0;  // bytes/s between GPU and CPU memory if the exchange takes this way, which stops the GPU; or 0
};

// The cost of a model and its training options.
struct PlanLoad {
  struct Table {
    int64_t rows = 0, width = 0;
  };
  int64_t parameters = 0;            // elements of the arenas
  int64_t last_parameters = 0;       // elements whose gradients are final only at the end of backward (first layer)
  int64_t largest_parameter = 0;     // elements
  std::vector<Table> tables;         // embedding tables, sent last as sparse rows (train/parallel/reducer.h)
  double state_elements = 0;         // state of the optimizer: two moments of all parameters for Adam
  double optimizer_flops = 0;        // FLOPs of products of matrices in an update
  double flops_per_token = 0;        // FLOPs of forward and backward
  double activations_per_token = 0;  // peak bytes
  double tokens = 0;                 // tokens per global batch; with weak scaling, of each rank
  double item_tokens = 1;            // tokens of a pair or a segment, on all sides: a batch has at least one of them
  double bucket_bytes = kMebibyte;   // size in fp32
  ParallelOptions parallel;
};

struct PlanRow {
  int ranks = 1;
  int micro_batches = 1;  // number of the rank with the most of them
  // Bytes per rank. reserved: of libraries and of memory between tensors.
  double weights = 0, gradients = 0, state = 0, activations = 0, reserved = 0;
  double memory() const { return weights + gradients + state + activations + reserved; }
  // Seconds per step. exposed: the part of the exchange that backward does not hide.
  double compute = 0, optimizer = 0, exchange = 0, exposed = 0;
  double step() const { return compute + optimizer + exposed; }
};

// Strong scaling keeps the global batch for any number of ranks; weak scaling lets it grow with them.
enum class Scaling : uint8_t { strong, weak };

// The cost of one rank without the exchange.
struct RankCost {
  double compute = 0, optimizer = 0;     // seconds per step; the optimizer's are for all elements
  double hiding = 0;                     // seconds of backward of the last micro-batch, which hides buckets
  double activations = 0, reserved = 0;  // bytes
};

// The part of a step that falls to the rank with the most micro-batches that are not empty. They run one after another.
struct RankShare {
  int micro_batches = 1;
  double micro_batch_tokens = 0;
  double tokens() const { return micro_batches * micro_batch_tokens; }
};

// The number of tokens of all ranks in a step.
double tokens_of_step(const PlanLoad& load, int ranks, Scaling scaling);
// Throws a UsageError if there are fewer micro-batches than ranks, as training does.
RankShare share_of_rank(const PlanLoad& load, int ranks, Scaling scaling);
// The most bytes of a rank's gradients and, with --deterministic, of its sums over several micro-batches
// (train/parallel/tree_reduction.h). Sharded gradients (ZeRO stage 2) are those that the rank owns, the buckets of
// which the exchange is in progress, the parameters of the next bucket, and one that backward works on.
double gradient_bytes(const PlanLoad& load, int ranks, int micro_batches);
// The cost at the rates of `rates`; backward is two thirds of the computation.
RankCost cost_at_rates(const PlanLoad& load, const PlanRates& rates, const RankShare& share);

// Model: each rank sends and receives 2 (R - 1) / R of the gradient, in 2 (R - 1) messages per bucket, or 2 log2(R)
// with trees. Sharded optimizer state (ZeRO stage 1) sends the same amount in two halves, of which the all-gather of
// the weights cannot be hidden. Sharded gradients (stage 2) send the first half for every micro-batch. With
// --deterministic, they send it once, and for any stage it has a part for each subtree of a rank's micro-batches.
// Backward hides the buckets that are sent before its end. The gradients of the last parameters and of the looked-up
// rows are sent after it. The estimate assumes lookups of random tokens, which touch more rows than real text. tokens:
// of all ranks. micro_batches: of the rank with the most of them.
PlanRow plan_row(const PlanLoad& load, const PlanRates& rates, const RankCost& cost, int ranks, double tokens,
                 int micro_batches);

// plan_row() at the rates of `rates`.
PlanRow plan_step(const PlanLoad& load, const PlanRates& rates, int ranks, Scaling scaling);

// Runs forward and backward of the batch that was drawn last. Returns the FLOPs of both (kTrainingFlopsFactor).
double run_step(const Workload& work, Kernels& kernels, Precision precision, TapeObserver* observer);

// Returns a load with parameters, last_parameters, tables, flops_per_token and activations_per_token; the caller sets
// the other fields. sparse_rows: whether gradients of lookups are sent as sparse rows, apart from their tables. On the
// virtual GPU, this counts without computing, and a model of any size needs no memory.
PlanLoad measure_load(const Workload& work, Parameters& parameters, Kernels& kernels, Precision precision,
                      int64_t tokens, bool sparse_rows);

// The FLOP/s of the model: the median of a few steps.
double measure_step_flops(const Workload& work, Kernels& kernels, Precision precision);

}  // namespace gyre
