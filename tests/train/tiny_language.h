// Documents that a language model learns in a moment: sentences of letters in alphabetical order, from any letter on.
#pragma once

#include "models/config.h"
#include "tests/train/tiny_run.h"
#include "train/language_options.h"

namespace gyre::test {

// Writes train.txt (50 sentences in 10 documents), valid.txt (20 in 4) and vocab.txt.
void write_tiny_documents(const Path& directory);

// Trains on the documents in `data`, a sentence a sample, 10 updates an epoch, into `run`; without validation.
MaskedOptions tiny_masked_options(const Path& data, const Path& run);

EncoderOnlyConfig tiny_encoder_config(double dropout = 0.1);

}  // namespace gyre::test
