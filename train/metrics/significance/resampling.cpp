#include "gyre/train/metrics/significance/resampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gyre/core/error.h"
#include "gyre/train/metrics/significance/numpy_random.h"

namespace gyre {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

void add(std::vector<int64_t>& sums, const int64_t* counts) {
  for (size_t k = 0; k < sums.size(); ++k) sums[k] += counts[k];
}

// differences: of the samples, absolute; center: the value to subtract from them; difference: that of the corpus.
double p_value(const std::vector<double>& differences, double center, double difference) {
  if (std::all_of(differences.begin(), differences.end(), [](double d) { return d == 0; })) return 1;
  const auto larger =
      std::count_if(differences.begin(), differences.end(), [&](double d) { return d - center > difference; });
  return double(larger + 1) / double(differences.size() + 1);
}

void require_samples(const SentenceStatistics& statistics, int64_t samples) {
  require(samples > 0, "[resampling] expected at least one sample, got ", samples);
  require(statistics.sentences() > 0 && statistics.sentences() < UINT32_MAX,
          "[resampling] expected from 1 to 2^32 - 2 sentences, got ", statistics.sentences());
}

}  // namespace

std::vector<double> bootstrap_scores(const SentenceStatistics& statistics, const ScoreOfSums& score,
                                     const ResamplingOptions& options) {
  require_samples(statistics, options.samples);
  NumpyRandom random(options.seed);
  std::vector<double> scores;
  for (int64_t sample = 0; sample < options.samples; ++sample) {
    std::vector<int64_t> sums(statistics.width());
    for (size_t i = 0; i < statistics.sentences(); ++i) {
      add(sums, statistics.sentence(random.below(uint32_t(statistics.sentences()))));
    }
    scores.push_back(score(sums));
  }
  return scores;
}

Confidence confidence(std::vector<double> scores) {
  require(!scores.empty(), "[resampling] expected at least one score, got none");
  std::sort(scores.begin(), scores.end());
  const size_t tail = scores.size() / 40;
  return {mean(scores), 0.5 * (scores[scores.size() - tail - 1] - scores[tail])};
}

double paired_bootstrap(const std::vector<double>& baseline, const std::vector<double>& system, double difference) {
  require(baseline.size() == system.size() && !system.empty(),
          "[resampling] expected as many samples of the system as of the baseline and at least one, got ",
          system.size(), " and ", baseline.size());
  std::vector<double> differences;
  for (size_t i = 0; i < system.size(); ++i) differences.push_back(std::abs(system[i] - baseline[i]));
  return p_value(differences, mean(differences), difference);
}

double paired_randomization(const SentenceStatistics& baseline, const SentenceStatistics& system,
                            const ScoreOfSums& score, const ResamplingOptions& options) {
  require_samples(baseline, options.samples);
  require(system.sentences() == baseline.sentences() && system.width() == baseline.width(),
          "[resampling] expected as many sentences of the system as of the baseline, got ", system.sentences(), " and ",
          baseline.sentences());
  NumpyRandom random(options.seed);
  const std::vector<int64_t> baseline_sums = baseline.sum(), system_sums = system.sum();
  std::vector<double> differences;
  for (int64_t trial = 0; trial < options.samples; ++trial) {
    std::vector<int64_t> first(baseline.width()), second(baseline.width());
    for (size_t i = 0; i < baseline.sentences(); ++i) {
      add(first, random.next_bit() ? baseline.sentence(i) : system.sentence(i));
    }
    for (size_t k = 0; k < second.size(); ++k) second[k] = baseline_sums[k] + system_sums[k] - first[k];
    differences.push_back(std::abs(score(first) - score(second)));
  }
  return p_value(differences, 0, std::abs(score(baseline_sums) - score(system_sums)));
}

double least_randomization_p(const SentenceStatistics& baseline, const SentenceStatistics& system) {
  int differing = 0;
  for (size_t i = 0; i < baseline.sentences(); ++i)
    differing += !std::equal(baseline.sentence(i), baseline.sentence(i) + baseline.width(), system.sentence(i));
  return std::min(1.0, std::ldexp(2.0, -differing));
}

}  // namespace gyre
