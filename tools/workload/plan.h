// Estimates memory and time of a training job for any number of ranks (gyre plan).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tools/workload/bench_metrics.h"

namespace gyre {

// Rates of one rank and of its link.
struct PlanRates {
  double flops = 0;        // FLOP/s of training steps
  double memory = 0;       // bytes/s of the optimizer's passes
  double link = 1.25e9;    // bytes/s in each direction
  double latency = 30e-6;  // seconds per message
  bool trees = false;      // messages go along a tree of the ranks, as NCCL's short ones, and not around a ring
};

// The cost of a model and its training options.
struct PlanLoad {
  struct Table {
    int64_t rows = 0, width = 0;
  };
  int64_t parameters = 0;            // elements of the arenas
  int64_t last_parameters = 0;       // elements whose gradients are final only at the end of backward (first layer)
  std::vector<Table> tables;         // embedding tables, sent last as sparse rows (train/parallel/sparse_all_reduce.h)
  int state_arenas = 2;              // of the optimizer: two moments, and 3 with a moving average
  double flops_per_token = 0;        // of forward and backward
  double activations_per_token = 0;  // peak bytes
  double tokens = 0;                 // per global batch
  int micro_batches_per_rank = 1;    // processed one after another: --optimizer-delay
  double comm_dtype_bytes = 4;       // bytes of a gradient element in a message
  double bucket_bytes = kMebibyte;
  bool zero = false;
};

struct PlanRow {
  int ranks = 1;
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

// The number of tokens of a rank in a step.
double tokens_of_rank(const PlanLoad& load, int ranks, Scaling scaling);
// The cost at the rates of `rates`; backward is two thirds of the computation.
RankCost cost_at_rates(const PlanLoad& load, const PlanRates& rates, double tokens);

// Model: each rank sends and receives 2 (R - 1) / R of the gradient, in 2 (R - 1) messages per bucket, or 2 log2(R)
// with trees. Sharded optimizer state (ZeRO stage 1) sends the same amount in two halves, of which the all-gather of
// the weights cannot be hidden. Backward hides the buckets that are sent before its end. The gradients of the last
// parameters and of the looked-up rows are sent after it. The estimate assumes lookups of random tokens, which touch
// more rows than real text. tokens: of a rank.
PlanRow plan_row(const PlanLoad& load, const PlanRates& rates, const RankCost& cost, int ranks, double tokens);

// plan_row() at the rates of `rates`.
PlanRow plan_step(const PlanLoad& load, const PlanRates& rates, int ranks, Scaling scaling);

}  // namespace gyre
