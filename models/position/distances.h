// Tables with a row for each distance t = key position - query position, for encodings that depend on distances. The
// distances are -(longest - 1) .. 0 if causal, otherwise up to longest - 1. The row of t is longest - 1 + t.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>

#include "gyre/models/position/constant_table.h"
#include "gyre/models/position/position.h"

namespace gyre {

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

}  // namespace gyre
