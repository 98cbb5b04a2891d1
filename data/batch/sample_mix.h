// Draws the samples of an epoch from several corpora in given shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gyre {

// An epoch has as many samples as all corpora together. Each corpus gives its share of them, rounded so that they add
// up, and goes through its samples in rounds: it gives each sample once before it gives any twice, and continues in the
// next epoch where it stopped. Every round has an order of its own. All is a pure function of (sizes, weights, seed,
// epoch).
class SampleMix {
 public:
  // sizes: number of samples of each corpus, at least 1. weights: one per corpus, above 0, of any sum; or empty: an
  // epoch has every sample once.
  SampleMix(std::vector<uint64_t> sizes, std::vector<double> weights, uint64_t seed);

  uint64_t size() const { return total_; }                         // samples of an epoch
  const std::vector<uint64_t>& shares() const { return shares_; }  // samples of an epoch from each corpus

  // The numbers of the samples of an epoch, counted over all corpora one after another.
  std::vector<uint32_t> draw(uint64_t epoch) const;

 private:
  std::vector<uint32_t> round(size_t corpus, uint64_t number) const;

  std::vector<uint64_t> sizes_, shares_;
  uint64_t total_ = 0;
  bool is_weighted_;
  uint64_t seed_;
};

}  // namespace gyre
