// Training of language models on documents: `gyre train mlm` and `gyre train lm`.
#pragma once

#include <optional>

#include "gyre/models/config/config.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/step.h"
#include "gyre/train/tasks/language/language_options.h"

namespace gyre {

// Both functions are collective. They start the run in start.directory, or resume an existing one, and return the
// result of a replay, if options.replay asks for one. The vocabulary sets config.vocab_size. Only rank 0 writes files.

// Trains a masked language model. The vocabulary needs a mask token, [MASK] or <mask>; config.causal must be false.
std::optional<ReplayResult> train_masked_language(const Resolved<MaskedOptions>& options,
                                                  const EncoderOnlyConfig& config, Communicator& ranks);
// Trains a causal language model. config.causal must be true.
std::optional<ReplayResult> train_causal_language(const Resolved<LanguageOptions>& options,
                                                  const EncoderOnlyConfig& config, Communicator& ranks);

}  // namespace gyre
