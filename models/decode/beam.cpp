#include "gyre/models/decode/beam.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gyre {

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

}  // namespace gyre
