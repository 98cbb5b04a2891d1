// Documents that a language model learns in a moment: sentences of letters in alphabetical order that start with any
// letter.
#pragma once

#include "gyre/models/config/config.h"
#include "gyre/train/tasks/language/language_options.h"
#include "tests/train/tiny_run.h"

namespace gyre::test {

// Writes train.txt (50 sentences in 10 documents), valid.txt (20 in 4) and vocab.txt.
void write_tiny_documents(const Path& directory);

// Options that train on the documents in `data` into `run`: one sentence per sample, 10 updates per epoch, no
// validation.
MaskedOptions tiny_masked_options(const Path& data, const Path& run);

EncoderOnlyConfig tiny_encoder_config(double dropout = 0.1);

// Train such models in this process alone.
void train(const MaskedOptions& options, double dropout = 0.1);
void train_causal(const LanguageOptions& options, double dropout = 0.1);

}  // namespace gyre::test
