// Random translations, whose tokens are drawn from the model's distribution, for example for back-translation.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gyre/models/decode/beam_search.h"

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

struct SamplingOptions {
  double temperature = 1;  // tokens are drawn from p^(1 / temperature), normalized; near 0 this is greedy search
  int top_k = 0;           // draw from the k most probable tokens only; 0: from all
  double top_p = 1;        // draw from the most probable tokens that hold this share of the probability
  uint64_t seed = 1;
  int samples = 1;  // number per source

  // Throws a UsageError with the name of the option of `gyre translate`.
  void validate() const;
};

// Returns `samples` random translations of each source (ids that end with EOS), in the order in which they are drawn.
// Their log-probabilities and scores are those of the model, before temperature and truncation. lines[i], the number of
// source i in the input, selects its random numbers: a sample is a function of (seed, line, number of the sample) and
// of the model's probabilities. Those may differ in the last bits between batches of other sizes, which changes about
// one token in a million. Of `options`, the beam size, n_best and the stop rule are not used. Decodes all sources in
// one batch. Adds the FLOPs to *flops. Throws for invalid options and for an empty source.
std::vector<std::vector<Hypothesis>> sample(const Ensemble& ensemble, Kernels& kernels,
                                            const std::vector<std::vector<int32_t>>& sources,
                                            const std::vector<uint64_t>& lines, const DecodeOptions& options,
                                            const SamplingOptions& sampling, double* flops = nullptr);

}  // namespace gyre
