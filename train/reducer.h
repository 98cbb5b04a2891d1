// Data parallelism: sums the gradient arena over all shards of all ranks, so that every rank then holds the same bits.
//
//   the gradients are zero
//   for each shard of this rank: { forward; [last shard: watch(tape)]; backward; end_shard() }
//   finish()
//
// Nothing is divided here: the optimizer divides by the global token count.
#pragma once

#include <memory>

#include "autograd/tape.h"
#include "train/communicator.h"

namespace gyre {

class GradientReducer {
 public:
  virtual ~GradientReducer() = default;
  virtual void watch(Tape& last_shard) = 0;
  virtual void end_shard() = 0;
  virtual void finish() = 0;
};

// Fast mode; collective. Buckets are ranges of the arena in reverse order of registration, at least `bucket_mb` MiB
// each but the last. A bucket leaves as soon as all its parameters are final on this rank, always in the same order,
// while backward goes on.
std::unique_ptr<GradientReducer> make_bucket_reducer(Communicator& ranks, Parameters& parameters, double bucket_mb);

// Deterministic mode: train/shard_tree.h.
std::unique_ptr<GradientReducer> make_tree_reducer(Communicator& ranks, Kernels& kernels, Parameters& parameters,
                                                   int shards);

}  // namespace gyre
