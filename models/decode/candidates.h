// Selection of the best continuations of a sentence's hypotheses, for beam search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace gyre {

struct Candidate {
  double total;    // log-probability of the hypothesis including the token
  int hypothesis;  // rank of the hypothesis among the live ones
  int32_t token;
  float log_prob;  // log-probability of the token
};

// Keeps the `limit` best of the candidates offered, best first. Of equal candidates, earlier ones come first.
class BestCandidates {
 public:
  explicit BestCandidates(int limit) : limit_(size_t(limit)) {}

  void offer(const Candidate& candidate);

  const std::vector<Candidate>& best() const { return best_; }

 private:
  // A new candidate must be better than this.
  double threshold() const {
    return best_.size() < limit_ ? -std::numeric_limits<double>::infinity() : best_.back().total;
  }

  size_t limit_;
  std::vector<Candidate> best_;
};

}  // namespace gyre
