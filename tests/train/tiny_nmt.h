// A translation task that trains in a moment: short words are spelt backwards. For the tests of whole runs.
#pragma once

#include <string>

#include "models/config.h"
#include "tests/train/tiny_run.h"
#include "train/nmt_options.h"

namespace gyre::test {

// Writes train.src, train.tgt (90 pairs), valid.src, valid.tgt (9 pairs) and vocab.bytes.
void write_tiny_corpus(const Path& directory);

// Trains on the corpus in `data`, 12 updates an epoch, into `run`; quiet, without validation.
NmtOptions tiny_options(const Path& data, const Path& run);

EncoderDecoderConfig tiny_config(double dropout = 0.1);

}  // namespace gyre::test
