// The beam of one sentence: what it does with the best continuations of each step, and when it is done.
#pragma once

#include <vector>

#include "models/decode/beam_search.h"
#include "models/decode/candidates.h"

namespace gyre {

// An unfinished hypothesis.
struct LiveHypothesis {
  std::vector<int32_t> ids;  // without BOS
  std::vector<float> token_log_probs;
  double log_probability = 0;
  int row = 0;  // in the batch of the step
};

// The best next tokens of all rows of a step, on the CPU: log-probabilities (rows, k + 1), the last that of EOS, and
// ids (rows, k), as Kernels::largest gives them.
struct NextTokens {
  Tensor log_probs, ids;
};

class Beam {
 public:
  // Starts with the empty hypothesis in `row`; at most max_tokens tokens before EOS.
  Beam(const DecodeOptions& options, int64_t max_tokens, int row);

  const std::vector<LiveHypothesis>& live() const { return live_; }  // best first; empty when done
  std::vector<LiveHypothesis>& live() { return live_; }

  // One step: each hypothesis's next tokens are in its row. Those that are never produced count for nothing, so k is at
  // least 2 * beam_size and their number, or the vocabulary's size.
  void advance(const NextTokens& next);

  // Best first, at most n_best.
  const std::vector<Hypothesis>& finished() const { return finished_; }

 private:
  std::vector<Candidate> choose(const NextTokens& next) const;
  void finish(const LiveHypothesis& hypothesis, const Candidate& candidate);
  bool done() const;
  double best_possible_score() const;

  const DecodeOptions& options_;
  int64_t max_tokens_;
  std::vector<LiveHypothesis> live_;
  std::vector<Hypothesis> finished_;
  int finished_count_ = 0;  // with those that fell out of the n_best
};

}  // namespace gyre
