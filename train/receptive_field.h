// How far a causal language model looks back, told by gradients: the receptive field as the cumulative normalized
// gradient (Chi et al. 2023, "Dissecting Transformer Length Extrapolation via the Lens of Receptive Field Analysis").
// After a text, let p be the probability of the next token that the model holds most likely, and e_t the embedding of
// the token at distance t before the last one (0: the last one itself):
//   g_t = d log p / d e_t
//   s_t = |g_t| / (|g_0| + |g_1| + ..)    share of the token at distance t
//   c_t = s_0 + .. + s_t                  share of the last t + 1 tokens
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernels.h"
#include "models/encoder_only.h"

namespace gyre {

// s_t, t = 0 .. n - 1, of a text of n ids that the model reads as they are. Adds to the gradients of the model's
// parameters. Throws unless the model is causal, has positions for n tokens, and some gradient arrives.
std::vector<double> gradient_shares(const EncoderOnly& model, Kernels& kernels, const std::vector<int32_t>& ids);

// c_t of shares by distance.
std::vector<double> cumulative_shares(const std::vector<double>& shares);

// The smallest distance t with c_t >= share.
int64_t distance_holding(double share, const std::vector<double>& cumulative);

}  // namespace gyre
