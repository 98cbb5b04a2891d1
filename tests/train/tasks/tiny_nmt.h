// A translation task that trains in a moment: to spell short words backward. For the tests of complete runs.
#pragma once

#include <string>

#include "gyre/models/config/config.h"
#include "gyre/train/tasks/translation/nmt_options.h"
#include "tests/train/tiny_run.h"

namespace gyre::test {

// Writes train.src, train.tgt (90 pairs), valid.src, valid.tgt (9 pairs) and vocab.bytes.
void write_tiny_corpus(const Path& directory);

// Writes vocab.merges: subword-nmt merges that were learned from the training pairs.
void write_tiny_merges(const Path& directory);

// Options that train on the corpus in `data` into `run`: 12 updates per epoch, quiet, no validation.
NmtOptions tiny_options(const Path& data, const Path& run);

EncoderDecoderConfig tiny_nmt_config(double dropout = 0.1);

// Trains in this process alone.
void train(const NmtOptions& options, const EncoderDecoderConfig& config = tiny_nmt_config());

}  // namespace gyre::test
