// The best continuations of a sentence's hypotheses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace gyre {

struct Candidate {
  double total;    // log-probability of the hypothesis with the token
  int hypothesis;  // its rank
  int32_t token;
  float log_prob;  // of the token
};

// Keeps the `limit` best candidates offered, best first; of equal ones those offered earlier.
class BestCandidates {
 public:
  explicit BestCandidates(int limit) : limit_(size_t(limit)) {}

  void offer(const Candidate& candidate);

  const std::vector<Candidate>& best() const { return best_; }

 private:
  // A candidate must be better than this.
  double bar() const { return best_.size() < limit_ ? -std::numeric_limits<double>::infinity() : best_.back().total; }

  size_t limit_;
  std::vector<Candidate> best_;
};

}  // namespace gyre
