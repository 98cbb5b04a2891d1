// What a training job will need and how fast it will be, for any number of ranks: gyre plan.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace gyre {

// One rank's rates and its link.
struct PlanRates {
  double flops = 0;        // a second, of products in training steps
  double memory = 0;       // bytes a second, of the optimizer's passes
  double link = 1.25e9;    // bytes a second, each way
  double latency = 30e-6;  // seconds of a message
};

// What a model and its recipe take.
struct PlanLoad {
  struct Table {
    int64_t rows = 0, width = 0;
  };
  int64_t parameters = 0;            // elements of the arenas
  int64_t last_parameters = 0;       // whose gradients are final only when backward ends: those of the first layer
  std::vector<Table> tables;         // whose lookups travel after that, row by row (train/row_sums.h)
  int state_arenas = 2;              // of the optimizer: two moments, and a moving average
  double flops_per_token = 0;        // of forward and backward
  double activations_per_token = 0;  // bytes at their most
  double tokens = 0;                 // of a global batch
  int shards_per_rank = 1;           // one after the other: --optimizer-delay
  double wire_bytes = 4;             // of a gradient's element on its way
  double bucket_bytes = 1 << 20;
  bool zero = false;
};

struct PlanRow {
  int ranks = 1;
  // Bytes of a rank.
  double weights = 0, gradients = 0, state = 0, activations = 0;
  double memory() const { return weights + gradients + state + activations; }
  // Seconds of a step: the exchange, what backward does not hide of it, and all together.
  double compute = 0, optimizer = 0, exchange = 0, exposed = 0;
  double step() const { return compute + optimizer + exposed; }
};

// The same global batch on more ranks (strong scaling), or one that grows with them (weak scaling).
enum class Scaling : uint8_t { strong, weak };

// Each rank sends and receives 2 (R - 1) / R of the gradient, in as many messages a bucket; sharded state (ZeRO stage
// 1) does the same in two halves, of which that of the weights cannot be hidden. Backward is two thirds of the
// computation, and hides what leaves before its end. Then leave the last parameters, and the rows that were looked up:
// as many as random tokens look up, which is more than text does.
PlanRow plan_step(const PlanLoad& load, const PlanRates& rates, int ranks, Scaling scaling);

}  // namespace gyre
