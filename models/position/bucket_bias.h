// A learned bias by bucket of distance (Raffel et al. 2020, 2.1), for each head, shared by the layers of a stack.
#pragma once

#include "models/position/distances.h"

namespace gyre {

// The bucket of distance t. Near distances have one each, the rest share buckets that widen with their logarithm; from
// max_distance on there is one. Causal: all buckets are for what came before; else half of them are for what lies
// ahead.
int64_t distance_bucket(int64_t t, int64_t buckets, int64_t max_distance, bool causal);

class BucketBias {
 public:
  // Registers name.bias (buckets, heads); `encoding` names itself in errors.
  BucketBias(const char* encoding, const PositionContext& context);

  // Sets the bias of the terms, which have nothing else by distance.
  void set(DistanceTerms& terms, Tape& tape, const TermsRequest& request) const;

 private:
  int64_t buckets_, max_distance_;
  Parameter* table_;
  KeptByDistance<Tensor> rows_;  // of the table
};

}  // namespace gyre
