// A learned bias by bucket of distance (Raffel et al. 2020, 2.1) for each head, shared by the layers of a stack. t5 and
// tupe use it.
#pragma once

#include "gyre/models/position/distances.h"

namespace gyre {

struct BucketBiasOptions {
  int64_t buckets = 32;
  int64_t max_distance = 128;  // distance from which on all share the last bucket

  std::vector<PositionOption> describe() {
    return {{.name = "bias_buckets",
             .value = &buckets,
             .unit = "NUMBER",
             .help = "buckets of distances, each with a bias, in t5 and tupe"},
            {.name = "bias_max_distance",
             .value = &max_distance,
             .unit = "TOKENS",
             .help = "distance from which on all share the last bucket"}};
  }
  // Throws "[encoding] ..." for numbers out of range.
  void check(const char* encoding) const;
};

// The bucket of distance t. Short distances have a bucket each; the others share buckets whose widths grow with the
// logarithm of the distance, the last one from max_distance on. Causal: all buckets are for keys before the query;
// otherwise half of them are for keys after it.
int64_t distance_bucket(int64_t t, int64_t buckets, int64_t max_distance, bool causal);

class BucketBias {
 public:
  // Registers name.bias (buckets, heads).
  BucketBias(const PositionContext& context, const BucketBiasOptions& options);

  // Sets the bias of `terms` and its zero_offset. The terms must have no other table by distance.
  void set(PositionTerms& terms, Tape& tape, const PositionTermsRequest& request) const;

 private:
  int64_t buckets_, max_distance_;
  Parameter* table_;
  KeptByDistance<Tensor> rows_;  // row of the table for each distance
};

}  // namespace gyre
