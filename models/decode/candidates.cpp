#include "gyre/models/decode/candidates.h"

#include <algorithm>

namespace gyre {

void BestCandidates::offer(const Candidate& candidate) {
  if (!(candidate.total > threshold())) return;  // a comparison that also rejects NaN
  if (best_.size() == limit_) best_.pop_back();
  const auto place = std::upper_bound(best_.begin(), best_.end(), candidate,
                                      [](const Candidate& a, const Candidate& b) { return a.total > b.total; });
  best_.insert(place, candidate);
}

}  // namespace gyre
