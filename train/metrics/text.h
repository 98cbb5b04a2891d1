// What the metrics of translations share: their lines, lowercase text, and the counts from which a score is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/error.h"

namespace gyre {

using Lines = std::vector<std::string>;

// Throws an Error if there are no hypotheses or references, or if a reference has a different number of lines.
inline void require_parallel(std::string_view metric, const Lines& hypotheses, const std::vector<Lines>& references) {
  require(!hypotheses.empty(), "[", metric, "] expected at least one hypothesis, got none");
  require(!references.empty(), "[", metric, "] expected at least one reference, got none");
  for (size_t i = 0; i < references.size(); ++i) {
    require(references[i].size() == hypotheses.size(), "[", metric,
            "] expected as many reference lines as hypotheses, got ", hypotheses.size(), " hypotheses and ",
            references[i].size(), " lines in reference ", i + 1);
  }
}

// The counts of each sentence from which a corpus metric is computed. Their sum over any set of sentences gives the
// score of that set, so that resampling need not look at the text again.
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

// Python's str.lower(), because the metrics must change text as sacreBLEU does: full, locale-independent lowercase
// mapping. One code point may become two; a final sigma becomes U+03C2.
std::u32string lowercase(std::u32string_view text);

}  // namespace gyre
