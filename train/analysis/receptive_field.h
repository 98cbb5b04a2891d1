// Receptive field of a causal language model, measured as the cumulative normalized gradient (Chi et al. 2023,
// "Dissecting Transformer Length Extrapolation via the Lens of Receptive Field Analysis"). For a text, let p be the
// probability of the most likely next token, and e_t the embedding of the token at distance t before the last one (0:
// the last one itself):
//   g_t = d log p / d e_t
//   s_t = |g_t| / (|g_0| + |g_1| + ..)    share of the token at distance t
//   c_t = s_0 + .. + s_t                  share of the last t + 1 tokens
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/models/encoder_only.h"

namespace gyre {

// Returns s_t, t = 0 .. n - 1, for a text of n ids, to which no special tokens are added. Accumulates into the
// gradients of the model's parameters. Throws an Error unless the model is causal, has positions for n tokens, and the
// gradient is finite and not zero.
std::vector<double> gradient_shares(const EncoderOnly& model, Kernels& kernels, const std::vector<int32_t>& ids);

// Returns c_t for the shares s_t.
std::vector<double> cumulative_shares(const std::vector<double>& shares);

// Returns the smallest distance t with c_t >= share.
int64_t distance_reaching(double share, const std::vector<double>& cumulative);

}  // namespace gyre
