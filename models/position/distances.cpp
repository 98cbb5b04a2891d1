#include "gyre/models/position/distances.h"

#include <cmath>
#include <cstdlib>

namespace gyre {

Tensor distance_ids(const PositionTermsRequest& request, const std::function<int64_t(int64_t)>& id_of) {
  Tensor ids = Tensor::empty({distance_count(request)}, DType::i32);
  for (int64_t row = 0; row < ids.size(); ++row) ids.data<int32_t>()[row] = int32_t(id_of(row - request.longest + 1));
  return ids;
}

Tensor distance_table(const PositionTermsRequest& request, int64_t columns,
                      const std::function<void(int64_t, double*)>& fill) {
  Tensor table = Tensor::empty({distance_count(request), columns}, DType::f64);
  for (int64_t row = 0; row < table.dim(0); ++row)
    fill(row - request.longest + 1, table.data<double>() + row * columns);
  return table;
}

int64_t distance_bucket(int64_t t, int64_t buckets, int64_t max_distance, bool causal) {
  const int64_t per_side = causal ? buckets : buckets / 2, exact = per_side / 2;
  const int64_t first = !causal && t > 0 ? per_side : 0;
  const int64_t x = causal ? std::max<int64_t>(-t, 0) : std::abs(t);
  if (x < exact) return first + x;
  const double share = std::log(double(x) / double(exact)) / std::log(double(max_distance) / double(exact));
  return first + std::min(exact + int64_t(share * double(per_side - exact)), per_side - 1);
}

void BucketBiasOptions::check(const char* encoding) const {
  require(buckets >= 4 && buckets % 2 == 0, "[", encoding, "] the buckets must be even and at least 4, got ", buckets);
  require(max_distance > buckets / 2, "[", encoding, "] the largest distance must be above half the buckets, ",
          buckets / 2, ", got ", max_distance);
}

BucketBias::BucketBias(const PositionContext& c, const BucketBiasOptions& options)
    : buckets_(options.buckets), max_distance_(options.max_distance) {
  table_ = &c.parameters.add(c.name + ".bias", {buckets_, c.heads}, c.table_init(), /*decay=*/false);
}

void BucketBias::set(PositionTerms& terms, Tape& tape, const PositionTermsRequest& request) const {
  const Tensor& rows = rows_.get(request, [&](const PositionTermsRequest& wider) {
    return distance_ids(wider, [&](int64_t t) { return distance_bucket(t, buckets_, max_distance_, wider.causal); });
  });
  terms.bias = gather_rows(tape.parameter(*table_), rows);
  terms.zero_offset = rows_.zero_offset();
}

}  // namespace gyre
