// A data-parallel training step as one rank sees it: when the buckets of the gradient leave during backward, and when
// their sums over the ranks arrive.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/optimizer_partition.h"
#include "gyre/train/parallel/traced_communicator.h"
#include "tools/workload/workload.h"

namespace gyre {

// All times are seconds since a moment that is the same on all ranks.
struct RankStep {
  struct Interval {
    double begin = 0, end = 0;
  };
  struct Op {
    int node = -1;
    Interval time;  // time of its backward
  };
  struct Bucket {
    ElementRange range;  // range of the arena of gradients
    int node = -1;       // node whose backward makes its last gradient final; -1: none
    double leaves = 0;
    std::optional<Interval> messages;  // start of the first one to the arrival of the sums; unknown with NCCL
  };
  std::vector<Op> backward;
  std::vector<Bucket> buckets;          // buckets in the order in which they are reduced
  std::vector<Exchange> lookups;        // the messages about the rows of embedding tables that tokens look up
  double end_of_backward = 0, end = 0;  // end: all sums have arrived
};

// Collective. Runs the step of the batch drawn last several times and returns the fastest run. The gradients of the
// parameters are then the sums over the ranks.
RankStep run_rank_step(Workload& work, Kernels& kernels, Precision precision, Communicator& ranks, double bucket_mb);

// Distributes the messages in `exchanges` over the buckets and the lookups. Those of one name belong to the buckets in
// their order, and then to the lookups (train/parallel/reducer.h), whose row numbers are the first all-reduce.
void assign_messages(std::vector<Exchange> exchanges, RankStep& step);

}  // namespace gyre
