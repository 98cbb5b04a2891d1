// Log-probabilities of given tokens, and of given continuations of texts by a causal model.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/models/encoder_only.h"

namespace gyre {

// The entries of log_probs(n, vocab), f32, in the columns ids(n).
std::vector<float> log_probs_of(Kernels& kernels, const Tensor& log_probs, std::span<const int32_t> ids);

// A text and the tokens that follow it, neither of them empty.
struct GivenContinuation {
  std::vector<int32_t> context, ids;
};

struct ContinuationScore {
  std::vector<float> log_probs;  // values of the tokens, by the model's distribution over the whole vocabulary
  bool is_greedy = true;         // whether every token is the most probable one

  double log_probability() const;
};

// Scores continuations, in batches of at most `batch_tokens` tokens of contexts and continuations; a longer one is a
// batch by itself. A context that several continuations have is read once, and so is what all contexts of a batch begin
// with. Calls `progress` with the number of continuations done after each batch. Throws for a model that is not causal,
// for a text that is longer than the model's positions, and for a log-probability that is not finite.
std::vector<ContinuationScore> score_continuations(const EncoderOnly& model, Kernels& kernels,
                                                   const std::vector<GivenContinuation>& continuations,
                                                   Precision precision, int64_t batch_tokens,
                                                   const std::function<void(size_t done)>& progress = {});

}  // namespace gyre
