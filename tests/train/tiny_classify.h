// Labelled texts that a classifier learns in a moment: rows of letters in alphabetical order; the class and the number
// say where in the alphabet the row begins.
#pragma once

#include "models/config.h"
#include "train/classify_options.h"

namespace gyre::test {

// Writes train.tsv (60 rows) and dev.tsv (15): columns id, sentence, label (early or late), score; and vocab.txt.
void write_tiny_labelled(const Path& directory);

// Trains on the rows in `data`, 12 updates an epoch, at a constant rate, into `run`; without validation.
ClassifyOptions tiny_classify_options(const Path& data, const Path& run);
ClassifyOptions tiny_regress_options(const Path& data, const Path& run);

}  // namespace gyre::test
