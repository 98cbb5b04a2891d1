// Beam search over the continuations of prompts by a causal model.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "gyre/models/decode/beam_search.h"
#include "gyre/models/decode/generate.h"

namespace gyre {

struct ContinuationRules {
  // The log-probabilities of tokens that the prompt or the continuation has already are multiplied by this, as in
  // Hugging Face's beam search; those of the hypotheses contain it.
  double repetition_penalty = 1;
  // Whether a continuation of prompts[i] ends with these tokens, as it does with EOS; empty: it does not.
  std::function<bool(size_t i, std::span<const int32_t> ids)> ends = {};
};

// The n_best continuations of each prompt, best first. Of the options, the length limits are not read: those of the
// prompts count, and a continuation that reaches its limit ends without EOS. With StopRule::present_length, the results
// are those of Hugging Face's generate(num_beams=.., length_penalty=.., repetition_penalty=..) if it suppresses the
// same ids. The prompts share their batch; their streams are not read. Adds the FLOPs (Tape::flops) to *flops. Throws
// as Generation does.
std::vector<std::vector<Hypothesis>> search_continuations(const EncoderOnly& model, Kernels& kernels,
                                                          const std::vector<Prompt>& prompts, DecodeOptions options,
                                                          const ContinuationRules& rules = {}, double* flops = nullptr);

}  // namespace gyre
