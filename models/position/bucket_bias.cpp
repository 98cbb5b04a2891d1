#include "models/position/bucket_bias.h"

#include <cmath>
#include <cstdlib>

namespace gyre {

int64_t distance_bucket(int64_t t, int64_t buckets, int64_t max_distance, bool causal) {
  const int64_t of_a_side = causal ? buckets : buckets / 2, exact = of_a_side / 2;
  const int64_t first = !causal && t > 0 ? of_a_side : 0;
  const int64_t x = causal ? std::max<int64_t>(-t, 0) : std::abs(t);
  if (x < exact) return first + x;
  const double share = std::log(double(x) / double(exact)) / std::log(double(max_distance) / double(exact));
  return first + std::min(exact + int64_t(share * double(of_a_side - exact)), of_a_side - 1);
}

BucketBias::BucketBias(const char* encoding, const PositionContext& c)
    : buckets_(c.config.bias_buckets), max_distance_(c.config.bias_max_distance) {
  require(buckets_ >= 4 && buckets_ % 2 == 0, "[", encoding, "] the buckets must be even and at least 4, got ",
          buckets_);
  require(max_distance_ > buckets_ / 2, "[", encoding, "] the largest distance must be above half the buckets, ",
          buckets_ / 2, ", got ", max_distance_);
  table_ = &c.parameters.add(c.name + ".bias", {buckets_, c.heads}, c.table_init(), /*decay=*/false);
}

void BucketBias::set(DistanceTerms& terms, Tape& tape, const TermsRequest& request) const {
  const Tensor& rows = rows_.get(request, [&](const TermsRequest& wider) {
    return distance_ids(wider, [&](int64_t t) { return distance_bucket(t, buckets_, max_distance_, wider.causal); });
  });
  terms.bias = table_rows(tape.parameter(*table_), rows);
  terms.zero = rows_.zero();
}

}  // namespace gyre
