// Decoding of any number of sentences: sorts them by length, decodes them in batches, and restores their order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gyre/models/decode/beam_search.h"
#include "gyre/models/decode/sampling.h"

namespace gyre {

// Limits of a batch of sentences to translate or of pairs to score. A longer one forms its own batch.
struct DecodingBatchLimits {
  int sentences = 64;     // maximum number of sentences or pairs
  int64_t tokens = 4096;  // maximum number of tokens: of the sources in translation, of both sides in scoring
};

// Groups the indices of `lengths` into batches, longest sentences first, so that the first batch needs the most memory.
// Sentences of equal length keep their order. Throws if a limit is below 1.
std::vector<std::vector<size_t>> batches_by_length(const std::vector<int64_t>& lengths,
                                                   const DecodingBatchLimits& limits);

// Returns the results of beam_search() in the order of the sources. Calls `progress` with the number of sentences done
// after each batch, from any thread but one at a time, and adds the FLOPs to *flops. On a CPU that has no more threads
// than there are sources, each thread decodes batches of its own, which are smaller than the limits if there would be
// fewer batches than threads. Otherwise all threads decode a batch together. prefixes: those of beam_search().
std::vector<std::vector<Hypothesis>> translate(const Ensemble& ensemble, Kernels& kernels,
                                               const std::vector<std::vector<int32_t>>& sources,
                                               const DecodeOptions& options, const DecodingBatchLimits& limits = {},
                                               const std::function<void(size_t done)>& progress = {},
                                               double* flops = nullptr,
                                               const std::vector<std::vector<int32_t>>& prefixes = {});

// Returns the results of sample() in the order of the sources.
std::vector<std::vector<Hypothesis>> sample_translations(const Ensemble& ensemble, Kernels& kernels,
                                                         const std::vector<std::vector<int32_t>>& sources,
                                                         const std::vector<uint64_t>& lines,
                                                         const DecodeOptions& options, const SamplingOptions& sampling,
                                                         const DecodingBatchLimits& limits = {});

}  // namespace gyre
