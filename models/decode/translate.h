// Decodes any number of sentences: sorts them by length, cuts them into batches, restores their order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/decode/beam_search.h"

namespace gyre {

struct TranslateBatches {
  int sentences = 64;     // at most in a batch
  int64_t tokens = 4096;  // source tokens, at most; a longer sentence goes alone
};

// Groups of indices of `lengths`, longest sentences first (memory runs out at the start or never); of equal length in
// their order.
std::vector<std::vector<size_t>> batches_by_length(const std::vector<int64_t>& lengths, const TranslateBatches& limits);

// Results in the order of the sources. `progress` is told the number of sentences done after each batch; the work is
// added to *flops.
std::vector<std::vector<Hypothesis>> translate(const EncoderDecoder& model, Kernels& kernels,
                                               const std::vector<std::vector<int32_t>>& sources,
                                               const DecodeOptions& options, const TranslateBatches& limits = {},
                                               const std::function<void(size_t done)>& progress = {},
                                               double* flops = nullptr);

}  // namespace gyre
