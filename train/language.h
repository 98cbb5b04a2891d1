// Training language models on documents: `gyre train mlm` and `gyre train lm`.
#pragma once

#include "models/config.h"
#include "train/communicator.h"
#include "train/language_options.h"

namespace gyre {

// Both are collective: they begin the run in options.model, or continue the one that is there, and return the exit
// status. The vocabulary sets config.vocab_size. Only rank 0 writes files.

// A masked language model; the vocabulary has a mask, [MASK] or <mask>, and config.causal is false.
int train_masked_language(const MaskedOptions& options, const EncoderOnlyConfig& config, Communicator& ranks);
// A model of the next token; config.causal is true.
int train_causal_language(const LanguageOptions& options, const EncoderOnlyConfig& config, Communicator& ranks);

}  // namespace gyre
