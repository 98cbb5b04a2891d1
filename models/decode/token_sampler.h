// Random choice of one token from a distribution over the vocabulary, with top-k and top-p truncation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gyre {

// The tokens to draw from, in no particular order: those with a positive probability; of them the top_k most probable
// (Fan et al. 2018) if top_k > 0; of these the smallest set of the most probable ones that holds the share top_p of
// their probability (nucleus sampling, Holtzman et al. 2020) if top_p < 1. Of equal probabilities, the lower id counts
// as more probable. probabilities (vocab) need not add up to 1.
std::vector<int32_t> tokens_to_draw(std::span<const float> probabilities, int top_k, double top_p);

// Draws one of `tokens`, each with a chance proportional to its probability. The result is a pure function of its
// arguments, and does not depend on the order of the tokens: token i wins if it has the largest p_i / E_i, where E_i is
// an exponentially distributed number, a function of (seed, stream, step, i). This is the Gumbel-max trick: a change of
// p_i by a relative error of 1e-6 changes the result with a probability of about 1e-6. Inverting the cumulative
// distribution would be less robust, because the errors of all smaller ids add up.
int32_t draw_token(std::span<const float> probabilities, const std::vector<int32_t>& tokens, uint64_t seed,
                   uint64_t stream, uint32_t step);

}  // namespace gyre
