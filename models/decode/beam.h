// The beam of one sentence: selects live and finished hypotheses at each step, and decides when the search is done.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "gyre/models/decode/beam_search.h"
#include "gyre/models/decode/candidates.h"
#include "gyre/models/decode/next_tokens.h"

namespace gyre {

// An unfinished hypothesis.
struct LiveHypothesis {
  std::vector<int32_t> ids;  // ids without BOS
  std::vector<float> token_log_probs;
  double log_probability = 0;
  int row = 0;  // row in the batch of the step
};

class Beam {
 public:
  // Whether these tokens end a hypothesis, as EOS does.
  using Ends = std::function<bool(std::span<const int32_t> ids)>;

  // Starts with the empty hypothesis in `row`. Hypotheses have at most max_tokens tokens, and with
  // DecodeOptions::forces_eos an EOS after them.
  Beam(const DecodeOptions& options, int64_t max_tokens, int row, Ends ends = {});

  const std::vector<LiveHypothesis>& live() const { return live_; }  // best first; empty when done
  std::vector<LiveHypothesis>& live() { return live_; }

  // Advances every live hypothesis by one token; the candidates of a hypothesis are in its row. Suppressed ids are
  // skipped, so k must be at least 2 * beam_size plus their number, or the size of the vocabulary.
  void advance(const NextTokens& next);

  // At most n_best hypotheses, best first. Call when done.
  const std::vector<Hypothesis>& finished() const { return finished_; }

 private:
  std::vector<Candidate> choose(const NextTokens& next) const;
  bool ends(const LiveHypothesis& hypothesis, int32_t token) const;
  void finish(const LiveHypothesis& hypothesis, const Candidate& candidate);
  size_t kept() const;
  bool done() const;
  double best_possible_score() const;

  const DecodeOptions& options_;
  int64_t max_tokens_;
  Ends ends_;
  std::vector<LiveHypothesis> live_;
  std::vector<Hypothesis> finished_;
  int finished_count_ = 0;  // includes those that are no longer kept
};

}  // namespace gyre
