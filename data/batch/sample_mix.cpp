#include "gyre/data/batch/sample_mix.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/random.h"

namespace gyre {
namespace {

// Rounds the shares of `total` so that they add up: those with the largest remainders are rounded up, the first of
// equal ones first.
std::vector<uint64_t> divide(uint64_t total, std::vector<double> weights) {
  const double largest = *std::max_element(weights.begin(), weights.end());
  for (double& weight : weights) weight /= largest;  // the sum of the weights cannot overflow
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<uint64_t> shares;
  std::vector<double> remainders;
  for (const double weight : weights) {
    const double exact = double(total) * weight / sum;
    shares.push_back(uint64_t(exact));
    remainders.push_back(exact - std::floor(exact));
  }
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  const uint64_t given = std::accumulate(shares.begin(), shares.end(), uint64_t{0});
  for (uint64_t i = 0; i < total - given; ++i) ++shares[order[i % order.size()]];
  return shares;
}

}  // namespace

SampleMix::SampleMix(std::vector<uint64_t> sizes, std::vector<double> weights, uint64_t seed)
    : sizes_(std::move(sizes)),
      total_(std::accumulate(sizes_.begin(), sizes_.end(), uint64_t{0})),
      is_weighted_(!weights.empty()),
      seed_(mix(seed, hash_name("corpora"))) {
  if (!is_weighted_) {
    shares_ = sizes_;
    return;
  }
  require(weights.size() == sizes_.size(), "[corpora] expected ", sizes_.size(), " weights, got ", weights.size());
  for (const double weight : weights)
    require(weight > 0 && std::isfinite(weight), "[corpora] expected weights above 0, got ", weight);
  for (const uint64_t size : sizes_) require(size > 0, "[corpora] expected samples in every corpus");
  shares_ = divide(total_, weights);
  for (size_t i = 0; i < shares_.size(); ++i)
    require(shares_[i] > 0, "[corpora] expected weights that give every corpus samples, got ", weights[i],
            " for corpus ", i + 1, ", which has none of the ", total_, " samples of an epoch");
}

std::vector<uint32_t> SampleMix::draw(uint64_t epoch) const {
  std::vector<uint32_t> drawn;
  drawn.reserve(total_);
  uint64_t first = 0;
  for (size_t corpus = 0; corpus < sizes_.size(); ++corpus) {
    const uint64_t size = sizes_[corpus];
    if (!is_weighted_) {
      for (uint64_t i = 0; i < size; ++i) drawn.push_back(uint32_t(first + i));
    }
    const uint64_t end = is_weighted_ ? (epoch + 1) * shares_[corpus] : 0;
    for (uint64_t at = epoch * shares_[corpus]; at < end;) {
      const std::vector<uint32_t> order = round(corpus, at / size);
      for (uint64_t i = at % size; i < size && at < end; ++i, ++at) drawn.push_back(uint32_t(first) + order[i]);
    }
    first += size;
  }
  return drawn;
}

std::vector<uint32_t> SampleMix::round(size_t corpus, uint64_t number) const {
  std::vector<uint32_t> order(sizes_[corpus]);
  std::iota(order.begin(), order.end(), uint32_t{0});
  RandomStream(mix(seed_, corpus), number).shuffle(order);
  return order;
}

}  // namespace gyre
