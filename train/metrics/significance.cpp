#include "gyre/train/metrics/significance.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "gyre/core/error.h"

namespace gyre {

namespace {

uint32_t fold(uint32_t value) { return value ^ (value >> 16); }

// A multiplicative hash whose constant changes with every call.
class ChangingHash {
 public:
  ChangingHash(uint32_t constant, uint32_t factor) : constant_(constant), factor_(factor) {}
  uint32_t operator()(uint32_t value) {
    value ^= constant_;
    constant_ *= factor_;
    return fold(value * constant_);
  }

 private:
  uint32_t constant_, factor_;
};

// SeedSequence(seed).generate_state(4, uint64).
std::array<uint64_t, 4> seed_words(uint64_t seed) {
  std::array<uint32_t, 4> pool{uint32_t(seed), uint32_t(seed >> 32)};
  ChangingHash hash_in(0x43B0D7E5, 0x931E8875), hash_out(0x8B51F9DD, 0x58F38DED);
  for (uint32_t& word : pool) word = hash_in(word);
  for (size_t from = 0; from < pool.size(); ++from) {
    for (size_t to = 0; to < pool.size(); ++to) {
      if (from != to) pool[to] = fold(0xCA01F9DD * pool[to] - 0x4973F715 * hash_in(pool[from]));
    }
  }
  std::array<uint64_t, 4> words{};
  for (size_t i = 0; i < 2 * words.size(); ++i) words[i / 2] |= uint64_t(hash_out(pool[i % 4])) << (32 * (i % 2));
  return words;
}

}  // namespace

NumpyRandom::NumpyRandom(uint64_t seed) {
  const auto words = seed_words(seed);
  increment_ = (((Uint128(words[2]) << 64) | words[3]) << 1) | 1;
  step();
  state_ += (Uint128(words[0]) << 64) | words[1];
  step();
}

void NumpyRandom::step() {
  constexpr Uint128 kMultiplier = (Uint128(0x2360ED051FC65DA4) << 64) | 0x4385DF649FCCF645;
  state_ = state_ * kMultiplier + increment_;
}

uint64_t NumpyRandom::next_u64() {
  step();
  const auto high = uint64_t(state_ >> 64);
  return std::rotr(high ^ uint64_t(state_), int(high >> 58));
}

uint32_t NumpyRandom::next_u32() {
  has_high_half_ = !has_high_half_;
  if (!has_high_half_) return high_half_;
  const uint64_t word = next_u64();
  high_half_ = uint32_t(word >> 32);
  return uint32_t(word);
}

bool NumpyRandom::next_bit() {
  if (bits_left_ == 0) {
    bits_ = next_u32();
    bits_left_ = 32;
  }
  const bool bit = (bits_ & 1) != 0;
  bits_ >>= 1;
  --bits_left_;
  return bit;
}

uint32_t NumpyRandom::below(uint32_t n) {
  if (n == 1) return 0;  // takes no number from the generator
  uint64_t product = uint64_t(next_u32()) * n;
  if (uint32_t(product) < n) {
    const uint32_t threshold = (0 - n) % n;
    while (uint32_t(product) < threshold) product = uint64_t(next_u32()) * n;
  }
  return uint32_t(product >> 32);
}

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
