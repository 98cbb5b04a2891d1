// Biases and tables by distance: distances of rows, constant tables, and buckets of distances.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "gyre/core/tensor.h"
#include "gyre/models/position/position.h"

namespace gyre {

// A table that an encoding computes once, in f64 on the CPU, and copies to the dtype and the device of a tape.
class ConstantTable {
 public:
  ConstantTable() = default;
  explicit ConstantTable(Tensor exact) : exact_(std::move(exact)) {}

  const Tensor& exact() const { return exact_; }
  // The last copy is kept.
  const Tensor& as(DType dtype, Device device) const {
    if (!copy_ || copy_.dtype() != dtype || copy_.device() != device) copy_ = exact_.to(dtype).to(device);
    return copy_;
  }

 private:
  Tensor exact_;
  mutable Tensor copy_;
};

inline int64_t distance_count(const PositionTermsRequest& r) { return r.causal ? r.longest : 2 * r.longest - 1; }

// id_of(t) for each distance: i32 (distances).
Tensor distance_ids(const PositionTermsRequest& request, const std::function<int64_t(int64_t)>& id_of);
// fill(t, row) writes the `columns` numbers of each distance: f64 (distances, columns).
Tensor distance_table(const PositionTermsRequest& request, int64_t columns,
                      const std::function<void(int64_t, double*)>& fill);

// Caches the rows, and recomputes them for longer segments, with the length rounded up to a power of two.
template <class Rows>
class KeptByDistance {
 public:
  template <class Make>
  const Rows& get(const PositionTermsRequest& wanted, const Make& make) const {
    if (wanted.longest > made_for_.longest || wanted.causal != made_for_.causal) {
      made_for_ = wanted;
      made_for_.longest = int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(wanted.longest, 1))));
      rows_ = Rows(make(made_for_));
    }
    return rows_;
  }
  int64_t zero_offset() const { return made_for_.longest - 1; }  // row of distance 0

 private:
  mutable PositionTermsRequest made_for_{.longest = -1};
  mutable Rows rows_;
};

// A learned bias by bucket of distance (Raffel et al. 2020, 2.1) for each head, shared by the layers of a stack. t5 and
// tupe use it.
struct BucketBiasOptions {
  int64_t buckets = 32;
  int64_t max_distance = 128;  // distance from which on all share the last bucket

  void declare(OptionList& list) {
    list.add(OnResume::another_model, "--bias-buckets", &buckets, "NUMBER",
             "buckets of distances, each with a bias, in t5 and tupe");
    list.add(OnResume::another_model, "--bias-max-distance", &max_distance, "TOKENS",
             "distance from which on all share the last bucket");
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
