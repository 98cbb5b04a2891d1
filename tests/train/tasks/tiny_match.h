// Triplets of texts that a matcher learns in a moment: letters in alphabetical order. Two texts are near if their
// letters are from the same half of the alphabet.
#pragma once

#include "gyre/train/tasks/matching/match_options.h"

namespace gyre::test {

// Writes train.jsonl (60 triplets), dev.jsonl (20), the same triplets as train.tsv and dev.tsv, and vocab.txt.
void write_tiny_triplets(const Path& directory);

// Options that train on the triplets in `data` into `run`: 15 updates per epoch, constant learning rate, no validation.
MatchOptions tiny_match_options(const Path& data, const Path& run);

}  // namespace gyre::test
