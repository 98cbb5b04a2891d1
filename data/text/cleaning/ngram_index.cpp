#include "gyre/data/text/cleaning/ngram_index.h"

#include <algorithm>
#include <limits>

#include "gyre/core/error.h"
#include "gyre/core/random.h"

namespace gyre {

namespace {

constexpr uint64_t kBase = 0x9E3779B97F4A7C15;  // odd

// Hashes of runs of words: sums of the words times powers of kBase, modulo 2^64.
class Runs {
 public:
  explicit Runs(std::span<const uint64_t> words) : prefixes_(words.size() + 1) {
    for (size_t i = 0; i < words.size(); ++i) prefixes_[i + 1] = prefixes_[i] * kBase + words[i];
  }

  // power: that of the length. A run that counts only as a whole text has another hash.
  TextHash hash(size_t begin, size_t length, uint64_t power) const {
    const uint64_t sum = prefixes_[begin + length] - prefixes_[begin] * power;
    const bool is_whole = length < NgramIndex::kFewest;
    return {sum, mix(sum, length * 2 + (is_whole ? 1 : 0))};
  }

 private:
  std::vector<uint64_t> prefixes_;
};

uint64_t power_of(size_t length) {
  uint64_t power = 1;
  for (size_t i = 0; i < length; ++i) power *= kBase;
  return power;
}

}  // namespace

uint32_t NgramIndex::number_of(const TextHash& hash) {
  const uint64_t known = table_.find_or_add(hash, first_text_.size() + 1);
  if (known != 0) return uint32_t(known - 1);
  require(first_text_.size() < std::numeric_limits<uint32_t>::max(), "[data] too many n-grams in the held-out sets");
  return uint32_t(first_text_.size());
}

void NgramIndex::add(std::span<const uint64_t> words) {
  const auto text = uint32_t(ngrams_of_.size());
  std::vector<uint32_t>& own = ngrams_of_.emplace_back();
  if (words.empty()) return;
  const size_t length = std::min(words.size(), n_);
  const auto place = std::ranges::lower_bound(lengths_, length);
  if (place == lengths_.end() || *place != length) lengths_.insert(place, length);
  const Runs runs(words);
  const uint64_t power = power_of(length);
  for (size_t at = 0; at + length <= words.size(); ++at) {
    const uint32_t ngram = number_of(runs.hash(at, length, power));
    if (ngram == first_text_.size()) {
      first_text_.push_back(text);
      length_.push_back(uint32_t(length));
    }
    own.push_back(ngram);
  }
}

std::vector<NgramIndex::Match> NgramIndex::find(std::span<const uint64_t> words, bool is_first) const {
  std::vector<Match> matches;
  const Runs runs(words);
  for (const size_t length : lengths_) {
    if (length > words.size() || (length < kFewest && length != words.size())) continue;
    const uint64_t power = power_of(length);
    for (size_t at = 0; at + length <= words.size(); ++at) {
      const uint64_t known = table_.find(runs.hash(at, length, power));
      if (known == 0) continue;
      const auto ngram = uint32_t(known - 1);
      matches.push_back({ngram, length_[ngram], first_text_[ngram]});
      if (is_first) return matches;
    }
  }
  return matches;
}

}  // namespace gyre
