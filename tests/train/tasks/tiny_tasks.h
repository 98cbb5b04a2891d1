// Data and options of tasks that train in a moment, for the tests of complete runs.
#pragma once

#include <string>

#include "gyre/models/config/config.h"
#include "gyre/train/tasks/classification/classify_options.h"
#include "gyre/train/tasks/language/language_options.h"
#include "gyre/train/tasks/matching/match_options.h"
#include "gyre/train/tasks/translation/nmt_options.h"
#include "tests/temporary_directory.h"
#include "tests/train/tiny_run.h"

namespace gyre::test {

// A translation task: to spell short words backward. Writes train.src, train.tgt (90 pairs), valid.src, valid.tgt (9
// pairs) and vocab.bytes.
void write_tiny_corpus(const Path& directory);

// Writes vocab.merges: subword-nmt merges that were learned from the training pairs.
void write_tiny_merges(const Path& directory);

// Options that train on the corpus in `data` into `run`: 12 updates per epoch, quiet, no validation.
NmtOptions tiny_options(const Path& data, const Path& run);

EncoderDecoderConfig tiny_nmt_config(double dropout = 0.1);

// Trains in this process alone.
void train(const NmtOptions& options, const EncoderDecoderConfig& config = tiny_nmt_config());

// Documents that a language model learns in a moment: sentences of letters in alphabetical order that start with any
// letter. Writes train.txt (50 sentences in 10 documents), valid.txt (20 in 4) and vocab.txt.
void write_tiny_documents(const Path& directory);

struct InTinyDocuments : InDirectory {
  InTinyDocuments() { write_tiny_documents(directory.path()); }
};

// Options that train on the documents in `data` into `run`: one sentence per sample, 10 updates per epoch, no
// validation.
MaskedOptions tiny_masked_options(const Path& data, const Path& run);

EncoderOnlyConfig tiny_encoder_config(double dropout = 0.1);

// Train such models in this process alone.
void train(const MaskedOptions& options, const EncoderOnlyConfig& config = tiny_encoder_config());
// Makes the model causal.
void train_causal(const LanguageOptions& options, EncoderOnlyConfig config = tiny_encoder_config());

// Labeled texts that a classifier learns in a moment: rows of letters in alphabetical order. The class and the score
// depend on the first letter of the row. Writes train.tsv (60 rows) and dev.tsv (15): columns id, sentence, label
// (early or late), score; and vocab.txt.
void write_tiny_labeled(const Path& directory);

// Options that train on the rows in `data` into `run`: 12 updates per epoch, constant learning rate, no validation.
ClassifyOptions tiny_classify_options(const Path& data, const Path& run);
ClassifyOptions tiny_regress_options(const Path& data, const Path& run);

// Triplets of texts that a matcher learns in a moment: letters in alphabetical order. Two texts are near if their
// letters are from the same half of the alphabet. Writes train.jsonl (60 triplets), dev.jsonl (20), the same triplets
// as train.tsv and dev.tsv, and vocab.txt.
void write_tiny_triplets(const Path& directory);

// Options that train on the triplets in `data` into `run`: 15 updates per epoch, constant learning rate, no validation.
MatchOptions tiny_match_options(const Path& data, const Path& run);

// Train a classifier and a matcher in this process alone.
void train(const ClassifyOptions& options, const EncoderOnlyConfig& config);
void train(const MatchOptions& options, const EncoderOnlyConfig& config);

}  // namespace gyre::test
