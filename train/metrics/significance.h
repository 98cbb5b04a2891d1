// Confidence intervals and paired significance tests of corpus metrics by resampling sentences, equal to sacreBLEU:
// the same samples for the same seed, the same interval and the same p-values.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/train/metrics/text.h"

namespace gyre {

struct ResamplingOptions {
  int64_t samples = 1000;
  uint64_t seed = 12345;
};

struct Confidence {
  double mean = 0;        // mean over the scores of all samples
  double half_width = 0;  // half the distance between the 2.5 % and the 97.5 % quantile
};

// Scores of bootstrap samples (Koehn, 2004): each has as many sentences as the corpus, drawn with replacement. Corpora
// of the same length get the same sentences.
std::vector<double> bootstrap_scores(const SentenceStatistics& statistics, const ScoreOfSums& score,
                                     const ResamplingOptions& options);

// The 95 % interval. Throws an Error if there are no scores.
Confidence confidence(std::vector<double> scores);

// The functions below return a p-value: roughly the probability of a difference of at least |score - baseline| by
// chance, if both systems are equally good. It is (c + 1) / (n + 1), where c of n samples have a larger difference, and
// 1 if no sample shows any difference, where sacreBLEU returns 1 / (n + 1).

// Paired bootstrap (Koehn, 2004). The arguments are the bootstrap_scores() of both systems for the same options, and
// the absolute difference of the scores of the whole corpus. The differences of the samples are centered by their mean.
double paired_bootstrap(const std::vector<double>& baseline, const std::vector<double>& system, double difference);

// Paired approximate randomization (Riezler and Maxwell, 2005): each sample swaps the outputs of random sentences.
// Throws an Error if the numbers of sentences differ.
double paired_randomization(const SentenceStatistics& baseline, const SentenceStatistics& system,
                            const ScoreOfSums& score, const ResamplingOptions& options);

// The smallest p that a permutation test of two systems can give: with n sentences in which their statistics differ,
// each of the 2^n permutations and its mirror image have the same difference, so it is 2^(1 - n), but at most 1.
// paired_randomization() counts larger differences only, as sacreBLEU does, and may return less.
double least_randomization_p(const SentenceStatistics& baseline, const SentenceStatistics& system);

// NumpyRandom: the numbers of numpy.random.default_rng(seed), so that resampling tests draw the samples of sacreBLEU.
// The generator is PCG64, i.e. PCG XSL RR 128/64 (O'Neill, 2014), seeded by NumPy's SeedSequence.
class NumpyRandom {
 public:
  explicit NumpyRandom(uint64_t seed);

  uint64_t next_u64();
  uint32_t next_u32();  // the low half of a 64-bit number, then its high half
  bool next_bit();      // Generator.integers(2, dtype=bool): the bits of 32-bit numbers, lowest first

  // Uniform on [0, n), 0 < n < 2^32, as Generator.integers(n): multiplication with rejection (Lemire, 2019).
  uint32_t below(uint32_t n);

 private:
  using Uint128 = unsigned __int128;
  void step();

  Uint128 state_ = 0, increment_ = 0;
  uint32_t high_half_ = 0, bits_ = 0;
  bool has_high_half_ = false;
  int bits_left_ = 0;
};

}  // namespace gyre
