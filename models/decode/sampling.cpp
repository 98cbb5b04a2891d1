#include "gyre/models/decode/sampling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "gyre/core/error.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/random.h"
#include "gyre/models/decode/decoding_batch.h"

namespace gyre {
namespace {

// The smallest number of tokens, most probable first, that hold the share top_p of the probability of all `tokens`.
template <class MoreProbable>
std::vector<int32_t> nucleus(std::span<const float> probabilities, std::vector<int32_t> tokens, double top_p,
                             const MoreProbable& more_probable) {
  double total = 0, mass = 0;
  for (const int32_t id : tokens) total += double(probabilities[size_t(id)]);
  const auto less_probable = [&](int32_t a, int32_t b) { return more_probable(b, a); };
  std::make_heap(tokens.begin(), tokens.end(), less_probable);  // the nucleus is small, so a full sort would be slower
  auto rest = tokens.end();
  while (rest != tokens.begin() && mass < top_p * total) {
    std::pop_heap(tokens.begin(), rest--, less_probable);
    mass += double(probabilities[size_t(*rest)]);
  }
  tokens.erase(tokens.begin(), rest);
  return tokens;
}

}  // namespace

std::vector<int32_t> tokens_to_draw(std::span<const float> probabilities, int top_k, double top_p) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < probabilities.size(); ++i)
    if (probabilities[i] > 0) tokens.push_back(int32_t(i));
  const auto more_probable = [&](int32_t a, int32_t b) {
    const float p = probabilities[size_t(a)], q = probabilities[size_t(b)];
    return p != q ? p > q : a < b;
  };
  if (top_k > 0 && size_t(top_k) < tokens.size()) {
    std::nth_element(tokens.begin(), tokens.begin() + top_k, tokens.end(), more_probable);
    tokens.resize(size_t(top_k));
  }
  if (top_p < 1) tokens = nucleus(probabilities, std::move(tokens), top_p, more_probable);
  return tokens;
}

int32_t draw_token(std::span<const float> probabilities, const std::vector<int32_t>& tokens, uint64_t seed,
                   uint64_t stream, uint32_t step) {
  require(!tokens.empty(), "[sampling] expected a token with a positive probability, found none");
  int32_t best = -1;
  double best_score = -1;
  uint64_t block_number = UINT64_MAX;
  std::array<uint32_t, 4> block{};
  for (const int32_t id : tokens) {
    const uint64_t number = (uint64_t(step) << 32) | (uint64_t(id) / 4);
    if (number != block_number) block = philox(seed, stream, block_number = number);
    const double p = double(probabilities[size_t(id)]), u = (double(block[size_t(id) % 4]) + 0.5) * 0x1p-32;
    if (p < best_score * u) continue;  // u is less than the exponential number: p / E cannot win
    const double score = p / -std::log1p(-u);
    if (score < best_score || (score == best_score && id > best)) continue;
    best = id;
    best_score = score;
  }
  return best;
}

void SamplingOptions::validate() const {
  expect_between(0.001, 1000.0, "--temperature", temperature);
  expect_at_least(0, "--top-k", top_k);
  expect(top_p > 0 && top_p <= 1, "--top-p", "a number above 0 and at most 1", top_p);
  expect_between(1, 1000, "--n-best", samples);
}

namespace {

// An unfinished translation.
struct Draft {
  size_t source;
  uint64_t stream;  // stream of its random numbers
  std::vector<int32_t> ids;
  std::vector<float> token_log_probs;
};

class BatchSampling {
 public:
  BatchSampling(const Ensemble& ensemble, Kernels& kernels, const std::vector<std::vector<int32_t>>& sources,
                const std::vector<uint64_t>& lines, const DecodeOptions& options, const SamplingOptions& sampling);
  std::vector<std::vector<Hypothesis>> run();
  double flops() const { return batch_.flops(); }

 private:
  void step();
  Tensor last_tokens() const;
  std::vector<int32_t> rows_by_source() const;
  Tensor tempered(const Tensor& log_probs) const;
  int32_t choose(const Draft& draft, std::span<const float> probabilities) const;
  size_t samples() const { return size_t(sampling_.samples); }

  const DecodeOptions& options_;
  const SamplingOptions& sampling_;
  DecodingBatch batch_;
  std::vector<int64_t> max_tokens_;  // limits by source
  std::vector<Draft> drafts_;        // drafts by source and sample
  std::vector<size_t> live_;         // the draft of each row of the step
  std::vector<int32_t> never_;       // suppressed ids
};

BatchSampling::BatchSampling(const Ensemble& ensemble, Kernels& kernels,
                             const std::vector<std::vector<int32_t>>& sources, const std::vector<uint64_t>& lines,
                             const DecodeOptions& options, const SamplingOptions& sampling)
    : options_(options),
      sampling_(sampling),
      batch_(ensemble, kernels, sources, sampling.samples, options),
      never_(options.suppressed) {
  if (options.bos != options.eos) never_.push_back(options.bos);
  std::vector<int> parents;
  for (size_t i = 0; i < sources.size(); ++i) {
    max_tokens_.push_back(options.max_tokens(int64_t(sources[i].size()), ensemble.longest()));
    for (size_t s = 0; s < samples(); ++s) {
      live_.push_back(drafts_.size());
      drafts_.push_back({i, mix(mix(hash_name("sampling"), lines[i]), s), {}, {}});
      parents.push_back(int(i));
    }
  }
  batch_.gather(parents);
}

std::vector<std::vector<Hypothesis>> BatchSampling::run() {
  while (!live_.empty()) step();
  std::vector<std::vector<Hypothesis>> results;
  for (Draft& draft : drafts_) {
    if (results.size() == draft.source) results.emplace_back();
    results.back().push_back(make_hypothesis(std::move(draft.ids), std::move(draft.token_log_probs), options_));
  }
  return results;
}

void BatchSampling::step() {
  batch_.step(last_tokens(), Segments::from_lengths(rows_by_source()));
  const Tensor log_probs = batch_.log_probabilities(), probabilities = tempered(log_probs);
  const auto vocab = size_t(log_probs.cols());
  std::vector<size_t> live;
  std::vector<int> parents;
  for (size_t row = 0; row < live_.size(); ++row) {
    Draft& draft = drafts_[live_[row]];
    const int32_t token = choose(draft, probabilities.span<float>().subspan(row * vocab, vocab));
    draft.token_log_probs.push_back(log_probs.span<float>()[row * vocab + size_t(token)]);
    if (token == options_.eos) continue;
    draft.ids.push_back(token);
    live.push_back(live_[row]);
    parents.push_back(int(row));
  }
  live_ = std::move(live);
  batch_.gather(parents);
}

Tensor BatchSampling::last_tokens() const {
  Tensor ids = Tensor::empty({batch_.rows()}, DType::i32);
  for (size_t row = 0; row < live_.size(); ++row) {
    const std::vector<int32_t>& drawn = drafts_[live_[row]].ids;
    ids.data<int32_t>()[row] = drawn.empty() ? options_.bos : drawn.back();
  }
  return ids;
}

std::vector<int32_t> BatchSampling::rows_by_source() const {
  std::vector<int32_t> rows(max_tokens_.size());
  for (const size_t draft : live_) ++rows[drafts_[draft].source];
  return rows;
}

// The probabilities to draw from, before truncation, of log_probs (rows, vocab) on the CPU.
Tensor BatchSampling::tempered(const Tensor& log_probs) const {
  const Tensor scaled = log_probs.like();
  Tensor probabilities = log_probs.like();
  cpu_kernels().scale(scaled, log_probs, 1 / sampling_.temperature);
  for (int64_t row = 0; row < scaled.rows(); ++row)
    for (const int32_t id : never_)
      scaled.data<float>()[row * scaled.cols() + id] = -std::numeric_limits<float>::infinity();
  cpu_kernels().softmax(probabilities, scaled);
  return probabilities;
}

int32_t BatchSampling::choose(const Draft& draft, std::span<const float> probabilities) const {
  const size_t drawn = draft.ids.size();
  require(!std::isnan(probabilities[size_t(options_.eos)]), "[sampling] expected probabilities, got NaN after ", drawn,
          " tokens");
  if (int64_t(drawn) >= max_tokens_[draft.source]) return options_.eos;
  return draw_token(probabilities, tokens_to_draw(probabilities, sampling_.top_k, sampling_.top_p), sampling_.seed,
                    draft.stream, uint32_t(drawn));
}

}  // namespace

std::vector<std::vector<Hypothesis>> sample(const Ensemble& ensemble, Kernels& kernels,
                                            const std::vector<std::vector<int32_t>>& sources,
                                            const std::vector<uint64_t>& lines, const DecodeOptions& options,
                                            const SamplingOptions& sampling, double* flops) {
  options.validate(ensemble.vocab_size());
  sampling.validate();
  require(lines.size() == sources.size(), "[sampling] expected the line numbers of ", sources.size(), " sources, got ",
          lines.size());
  if (sources.empty()) return {};
  BatchSampling batch(ensemble, kernels, sources, lines, options, sampling);
  auto results = batch.run();
  if (flops) *flops += batch.flops();
  return results;
}

}  // namespace gyre
