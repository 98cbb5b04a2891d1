// SentenceStatistics: the counts of each sentence from which a corpus metric is computed. Their sum over any set of
// sentences gives the score of that set, so that resampling need not look at the text again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gyre {

class SentenceStatistics {
 public:
  // width: the number of counts per sentence, at least 1.
  explicit SentenceStatistics(size_t width) : width_(width) {}

  void add(std::span<const int64_t> counts) { values_.insert(values_.end(), counts.begin(), counts.end()); }
  size_t width() const { return width_; }
  size_t sentences() const { return values_.size() / width_; }
  const int64_t* sentence(size_t i) const { return values_.data() + i * width_; }  // [width]

  std::vector<int64_t> sum() const {
    std::vector<int64_t> sums(width_);
    for (size_t i = 0; i < values_.size(); ++i) sums[i % width_] += values_[i];
    return sums;
  }

 private:
  size_t width_;
  std::vector<int64_t> values_;  // [sentences, width]
};

// The score of summed statistics.
using ScoreOfSums = std::function<double(std::span<const int64_t>)>;

}  // namespace gyre
