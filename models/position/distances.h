// What encodings know of distances t = key place - query place, a row for each: -(longest - 1) .. 0 where no key lies
// ahead, else to longest - 1. Row longest - 1 + t is that of t.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>

#include "models/position/constant_table.h"
#include "models/position/position.h"

namespace gyre {

inline int64_t distance_count(const TermsRequest& r) { return r.causal ? r.longest : 2 * r.longest - 1; }

// id_of(t) of each distance: i32.
Tensor distance_ids(const TermsRequest& request, const std::function<int64_t(int64_t)>& id_of);
// fill(t, row) writes the `columns` numbers of each distance: f64.
Tensor distance_table(const TermsRequest& request, int64_t columns, const std::function<void(int64_t, double*)>& fill);

// Rows that are kept, and made anew where longer segments come, for a length of the next power of two.
template <class Rows>
class KeptByDistance {
 public:
  template <class Make>
  const Rows& get(const TermsRequest& wanted, const Make& make) const {
    if (wanted.longest > made_for_.longest || wanted.causal != made_for_.causal) {
      made_for_ = wanted;
      made_for_.longest = int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(wanted.longest, 1))));
      rows_ = Rows(make(made_for_));
    }
    return rows_;
  }
  int64_t zero() const { return made_for_.longest - 1; }  // the row of distance 0

 private:
  mutable TermsRequest made_for_{.longest = -1};
  mutable Rows rows_;
};

}  // namespace gyre
