#include "gyre/models/decode/beam_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "gyre/core/option_checks.h"
#include "gyre/models/decode/decoding_batch.h"

namespace gyre {

void BestCandidates::offer(const Candidate& candidate) {
  if (!(candidate.total > threshold())) return;  // a comparison that also rejects NaN
  if (best_.size() == limit_) best_.pop_back();
  const auto place = std::upper_bound(best_.begin(), best_.end(), candidate,
                                      [](const Candidate& a, const Candidate& b) { return a.total > b.total; });
  best_.insert(place, candidate);
}

Beam::Beam(const DecodeOptions& options, int64_t max_tokens, int row, Ends ends)
    : options_(options), max_tokens_(max_tokens), ends_(std::move(ends)) {
  live_.push_back({{}, {}, 0, row});
}

void Beam::advance(const NextTokens& next_tokens) {
  std::vector<LiveHypothesis> next;
  const bool is_last = !options_.forces_eos && int64_t(live_.front().ids.size()) + 1 >= max_tokens_;
  const std::vector<Candidate> candidates = choose(next_tokens);
  for (size_t rank = 0; rank < candidates.size(); ++rank) {
    const Candidate& candidate = candidates[rank];
    const LiveHypothesis& parent = live_[size_t(candidate.hypothesis)];
    if (is_last || ends(parent, candidate.token)) {
      if (int(rank) < options_.beam_size) finish(parent, candidate);
    } else if (int(next.size()) < options_.beam_size) {
      next.push_back(parent);
      next.back().ids.push_back(candidate.token);
      next.back().token_log_probs.push_back(candidate.log_prob);
      next.back().log_probability = candidate.total;
    }
  }
  live_ = std::move(next);
  if (!done()) return;
  live_.clear();
  if (int(finished_.size()) > options_.n_best) finished_.resize(size_t(options_.n_best));
}

void Beam::force(int32_t token, float log_prob) {
  require(live_.size() == 1, "[beam search] expected one hypothesis to force, got ", live_.size());
  live_.front().ids.push_back(token);
  live_.front().token_log_probs.push_back(log_prob);
  live_.front().log_probability += double(log_prob);
}

std::vector<Candidate> Beam::choose(const NextTokens& next) const {
  const bool must_end = options_.forces_eos && int64_t(live_.front().ids.size()) >= max_tokens_;
  const int64_t k = next.ids.cols();
  BestCandidates candidates(2 * options_.beam_size);
  for (size_t i = 0; i < live_.size(); ++i) {
    const float* log_probs = next.log_probs.data<float>() + live_[i].row * (k + 1);
    const int32_t* ids = next.ids.data<int32_t>() + live_[i].row * k;
    const auto offer = [&](int32_t id, float log_prob) {
      candidates.offer({live_[i].log_probability + double(log_prob), int(i), id, log_prob});
    };
    require(!std::isnan(log_probs[k]), "[beam search] expected log-probabilities, got NaN after ", live_[i].ids.size(),
            " tokens");
    if (must_end) {
      offer(options_.eos, log_probs[k]);
      continue;
    }
    for (int64_t j = 0; j < k && ids[j] >= 0; ++j)
      if (options_.produces(ids[j])) offer(ids[j], log_probs[j]);
  }
  return candidates.best();
}

bool Beam::ends(const LiveHypothesis& hypothesis, int32_t token) const {
  if (token == options_.eos) return true;
  if (!ends_) return false;
  std::vector<int32_t> ids = hypothesis.ids;
  ids.push_back(token);
  return ends_(ids);
}

void Beam::finish(const LiveHypothesis& hypothesis, const Candidate& candidate) {
  if (options_.stop == StopRule::beam_finished && finished_count_ >= options_.beam_size) return;
  ++finished_count_;
  const double divisor = length_divisor(options_.form, options_.length_penalty, int64_t(hypothesis.ids.size()) + 1);
  Hypothesis h{hypothesis.ids, candidate.total / divisor, candidate.total, hypothesis.token_log_probs};
  if (candidate.token != options_.eos) h.ids.push_back(candidate.token);
  h.token_log_probs.push_back(candidate.log_prob);
  const auto place = std::upper_bound(finished_.begin(), finished_.end(), h,
                                      [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  finished_.insert(place, std::move(h));
  if (finished_.size() > kept()) finished_.pop_back();
}

// The number of finished hypotheses that the stop rule compares with the live ones.
size_t Beam::kept() const {
  return size_t(options_.stop == StopRule::present_length ? options_.beam_size : options_.n_best);
}

bool Beam::done() const {
  if (live_.empty()) return true;
  if (options_.stop == StopRule::beam_finished && finished_count_ >= options_.beam_size) return true;
  return finished_.size() == kept() && finished_.back().score >= best_possible_score();
}

// An upper bound of the scores of future hypotheses: log-probabilities never increase, so no continuation scores better
// than the best live hypothesis, divided by the most favorable length divisor. With present_length, an estimate.
double Beam::best_possible_score() const {
  const auto divisor = [&](int64_t tokens) { return length_divisor(options_.form, options_.length_penalty, tokens); };
  if (options_.stop == StopRule::present_length)
    return live_.front().log_probability / divisor(int64_t(live_.front().ids.size()));
  const double best_divisor = std::max(divisor(int64_t(live_.front().ids.size()) + 1), divisor(max_tokens_ + 1));
  return live_.front().log_probability / best_divisor;
}

double length_divisor(LengthPenaltyForm form, double exponent, int64_t tokens) {
  const double length = form == LengthPenaltyForm::fairseq ? double(tokens) : (5 + double(tokens)) / 6;
  return std::pow(length, exponent);
}

Hypothesis make_hypothesis(std::vector<int32_t> ids, std::vector<float> token_log_probs, const DecodeOptions& options) {
  double sum = 0;
  for (const float log_prob : token_log_probs) sum += double(log_prob);
  const double divisor = length_divisor(options.form, options.length_penalty, int64_t(token_log_probs.size()));
  return {std::move(ids), sum / divisor, sum, std::move(token_log_probs)};
}

void DecodeOptions::validate_search(std::string_view prefix) const {
  const auto flag = [&](std::string_view name) { return concat(prefix, name); };
  expect_between(1, 1000, flag("beam-size"), beam_size);
  expect(n_best >= 1 && n_best <= beam_size, flag("n-best"), concat("1 to the beam size ", beam_size), n_best);
  expect_between(-1.0, 10.0, flag("length-penalty"), length_penalty);
  expect_between(0.0, 1000.0, flag("max-length-factor"), max_length_factor);
  expect_between(0, 100'000, flag("max-length-extra"), max_length_extra);
}

void DecodeOptions::validate(int64_t vocab_size) const {
  const auto require_id = [&](const char* name, int32_t id) {
    require(id >= 0 && id < vocab_size, "[", name, "] expected an id below ", vocab_size, ", got ", id);
  };
  validate_search();
  require_id("bos", bos);
  require_id("eos", eos);
  for (int32_t id : suppressed) {
    require_id("suppressed", id);
    require(id != eos, "[suppressed] expected ids other than the EOS, got ", eos);
  }
}

int64_t DecodeOptions::max_tokens(int64_t source_tokens, int64_t longest) const {
  const double wanted = std::floor(max_length_factor * double(source_tokens)) + max_length_extra;
  return std::min(int64_t(wanted), longest - 1);  // BOS also takes a position
}

bool DecodeOptions::produces(int32_t id) const {
  if (id == bos && bos != eos) return false;
  return std::find(suppressed.begin(), suppressed.end(), id) == suppressed.end();
}

namespace {

// Decodes one batch of sources.
class BatchSearch {
 public:
  BatchSearch(const Ensemble& ensemble, Kernels& kernels, const std::vector<std::vector<int32_t>>& sources,
              const DecodeOptions& options, const std::vector<std::vector<int32_t>>& prefixes);
  std::vector<std::vector<Hypothesis>> run();
  double flops() const { return batch_.flops(); }

 private:
  void step();
  std::optional<int32_t> forced_token(size_t sentence) const;  // the next token of its prefix, if there is one
  Tensor last_tokens() const;
  void place_rows();

  const DecodeOptions& options_;
  DecodingBatch batch_;
  int64_t candidates_;  // best next tokens that each hypothesis offers
  std::vector<Beam> beams_;
  const std::vector<std::vector<int32_t>>& prefixes_;  // prefixes by sentence, or none
};

BatchSearch::BatchSearch(const Ensemble& ensemble, Kernels& kernels, const std::vector<std::vector<int32_t>>& sources,
                         const DecodeOptions& options, const std::vector<std::vector<int32_t>>& prefixes)
    : options_(options), batch_(ensemble, kernels, sources, options.beam_size, options), prefixes_(prefixes) {
  const int64_t never = int64_t(options.suppressed.size()) + 1;  // including BOS
  candidates_ = std::min(ensemble.vocab_size(), 2 * options.beam_size + never);
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t forced = prefixes.empty() ? 0 : int64_t(prefixes[i].size());
    require(forced < ensemble.longest(), "[beam search] expected a prefix of fewer than ", ensemble.longest(),
            " tokens, which the model has positions for, got ", forced);
    const int64_t most = options.max_tokens(int64_t(sources[i].size()), ensemble.longest());
    beams_.emplace_back(options_, std::max(most, forced), int(i));
  }
}

std::vector<std::vector<Hypothesis>> BatchSearch::run() {
  while (std::any_of(beams_.begin(), beams_.end(), [](const Beam& b) { return !b.live().empty(); })) step();
  std::vector<std::vector<Hypothesis>> results;
  for (const Beam& beam : beams_) results.push_back(beam.finished());
  return results;
}

void BatchSearch::step() {
  std::vector<int32_t> rows;  // number of rows of each sentence; 0 once it is done
  for (const Beam& beam : beams_) rows.push_back(int32_t(beam.live().size()));
  batch_.step(last_tokens(), Segments::from_lengths(rows));
  const NextTokens next = batch_.best(candidates_, options_.eos);
  Tensor log_probs;
  for (size_t i = 0; i < beams_.size(); ++i) {
    if (beams_[i].live().empty()) continue;
    const std::optional<int32_t> forced = forced_token(i);
    if (!forced) {
      beams_[i].advance(next);
      continue;
    }
    if (!log_probs) log_probs = batch_.log_probabilities();
    const int64_t row = beams_[i].live().front().row;
    beams_[i].force(*forced, log_probs.data<float>()[row * log_probs.cols() + *forced]);
  }
  place_rows();
}

std::optional<int32_t> BatchSearch::forced_token(size_t sentence) const {
  const size_t length = beams_[sentence].live().front().ids.size();
  if (prefixes_.empty() || length >= prefixes_[sentence].size()) return std::nullopt;
  return prefixes_[sentence][length];
}

Tensor BatchSearch::last_tokens() const {
  Tensor ids = Tensor::empty({batch_.rows()}, DType::i32);
  for (const Beam& beam : beams_)
    for (const LiveHypothesis& h : beam.live())
      ids.data<int32_t>()[h.row] = h.ids.empty() ? options_.bos : h.ids.back();
  return ids;
}

// Assigns each live hypothesis a row of the next step. The rows of a sentence are contiguous.
void BatchSearch::place_rows() {
  std::vector<int> parents;
  for (Beam& beam : beams_)
    for (LiveHypothesis& h : beam.live()) {
      parents.push_back(h.row);
      h.row = int(parents.size()) - 1;
    }
  batch_.gather(parents);
}

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(const Ensemble& ensemble, Kernels& kernels,
                                                 const std::vector<std::vector<int32_t>>& sources,
                                                 const DecodeOptions& options, double* flops,
                                                 const std::vector<std::vector<int32_t>>& prefixes) {
  options.validate(ensemble.vocab_size());
  require(prefixes.empty() || prefixes.size() == sources.size(), "[beam search] expected a prefix for each of ",
          sources.size(), " sources, got ", prefixes.size());
  if (sources.empty()) return {};
  BatchSearch search(ensemble, kernels, sources, options, prefixes);
  auto results = search.run();
  if (flops) *flops += search.flops();
  return results;
}

}  // namespace gyre
