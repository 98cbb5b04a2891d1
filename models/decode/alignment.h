// Alignments of translations with their sources, from the cross-attention of one decoder layer.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gyre/models/decode/beam_search.h"

namespace gyre {

// Numbers of a source token and of a target token, from 0.
using AlignedTokens = std::pair<int32_t, int32_t>;

// The source token to which the decoder attends most when it predicts a target token, by the mean weight of all heads
// of the layer (from 0) and of all models. Pairs are ordered by target token; EOS has none on either side. source: ids
// that end with EOS; target: ids without it. Of `options`, bos is used. Throws an Error for a layer that a model lacks.
std::vector<AlignedTokens> align(const Ensemble& ensemble, Kernels& kernels, const std::vector<int32_t>& source,
                                 const std::vector<int32_t>& target, const DecodeOptions& options, int layer);

}  // namespace gyre
