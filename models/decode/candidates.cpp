#include "models/decode/candidates.h"

#include <algorithm>
#include <cmath>

namespace gyre {

bool BestCandidates::offer(const Candidate& candidate) {
  if (!(candidate.total > bar())) return false;  // also refuses NaN
  if (best_.size() == limit_) best_.pop_back();
  const auto place = std::upper_bound(best_.begin(), best_.end(), candidate,
                                      [](const Candidate& a, const Candidate& b) { return a.total > b.total; });
  best_.insert(place, candidate);
  return true;
}

void BestCandidates::offer_row(const float* log_probs, int64_t n, int hypothesis, double total) {
  // One step below the bar, so that rounding to float drops no candidate.
  const auto bar_of_row = [&] { return std::nextafter(float(bar() - total), -std::numeric_limits<float>::infinity()); };
  // Nearly every block has nothing above the bar: the compiler turns that test into a few vector comparisons.
  constexpr int64_t kBlock = 64;
  float row_bar = bar_of_row();
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n);
    int above = 0;
    for (int64_t j = begin; j < end; ++j) above |= int(log_probs[j] > row_bar);
    if (!above) continue;
    for (int64_t j = begin; j < end; ++j)
      if (log_probs[j] > row_bar && offer({total + double(log_probs[j]), hypothesis, int32_t(j)}))
        row_bar = bar_of_row();
  }
}

}  // namespace gyre
