// Labeled texts that a classifier learns in a moment: rows of letters in alphabetical order. The class and the score
// depend on the first letter of the row.
#pragma once

#include "gyre/models/config/config.h"
#include "gyre/train/tasks/classification/classify_options.h"

namespace gyre::test {

// Writes train.tsv (60 rows) and dev.tsv (15): columns id, sentence, label (early or late), score; and vocab.txt.
void write_tiny_labeled(const Path& directory);

// Options that train on the rows in `data` into `run`: 12 updates per epoch, constant learning rate, no validation.
ClassifyOptions tiny_classify_options(const Path& data, const Path& run);
ClassifyOptions tiny_regress_options(const Path& data, const Path& run);

}  // namespace gyre::test
