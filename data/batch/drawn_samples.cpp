#include "gyre/data/batch/drawn_samples.h"

#include <utility>

namespace gyre {
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
