#include "gyre/data/batch/drawn_samples.h"

#include <algorithm>
#include <utility>

#include "gyre/core/error.h"

namespace gyre {
CorpusSamples::CorpusSamples(std::vector<SharedSamples> corpora) : corpora_(std::move(corpora)) {
  require(!corpora_.empty(), "[documents] expected at least one corpus");
  size_t end = 0;
  for (const SharedSamples& corpus : corpora_) ends_.push_back(end += corpus->size());
}

CorpusSamples::Place CorpusSamples::place_of(size_t sample) const {
  require(sample < size(), "[documents] expected a sample below ", size(), ", got ", sample);
  const auto corpus = size_t(std::upper_bound(ends_.begin(), ends_.end(), sample) - ends_.begin());
  return {*corpora_[corpus], corpus == 0 ? sample : sample - ends_[corpus - 1]};
}

int CorpusSamples::rows(size_t sample) const {
  const Place place = place_of(sample);
  return place.samples.rows(place.sample);
}

void CorpusSamples::append(size_t sample, std::vector<int32_t>& ids, std::vector<int32_t>& ends) const {
  const Place place = place_of(sample);
  place.samples.append(place.sample, ids, ends);
}

uint64_t CorpusSamples::documents() const {
  uint64_t sum = 0;
  for (const SharedSamples& corpus : corpora_) sum += corpus->documents();
  return sum;
}

uint64_t CorpusSamples::tokens() const {
  uint64_t sum = 0;
  for (const SharedSamples& corpus : corpora_) sum += corpus->tokens();
  return sum;
}

void CorpusSamples::require_untruncated() const {
  for (const SharedSamples& corpus : corpora_) corpus->store().require_untruncated();
}

namespace {

std::vector<uint64_t> sizes_of(const CorpusSamples& samples) {
  std::vector<uint64_t> sizes;
  for (const SharedSamples& corpus : samples.corpora()) sizes.push_back(corpus->size());
  return sizes;
}

}  // namespace

DrawnSamples::DrawnSamples(CorpusSamples samples, const std::vector<double>& weights, uint64_t seed)
    : all_(std::move(samples)), mix_(sizes_of(all_), weights, seed), drawn_(mix_.draw(0)) {}

}  // namespace gyre
