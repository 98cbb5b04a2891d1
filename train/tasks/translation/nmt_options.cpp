#include "gyre/train/tasks/translation/nmt_options.h"

#include <algorithm>

#include "gyre/core/counted.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/store/token_store.h"
#include "gyre/data/text/text_input.h"
#include "gyre/models/decode/beam_search.h"

namespace gyre {

namespace {

// Throws unless the files are token stores or a source and a target. The files of a folder or a pattern are sorted by
// path, which says nothing about the languages.
void expect_pairs(const std::string& flag, const std::vector<Path>& paths) {
  const std::vector<Path> files = expand_paths(paths);
  if (std::all_of(files.begin(), files.end(), [](const Path& file) { return TokenStore::recognizes(file); })) return;
  constexpr const char* kExpected = "a source and a target file, or token stores";
  expect(paths.size() <= 2, flag, kExpected, concat(paths.size(), " paths"));
  expect(files == paths, flag, kExpected, concat("a folder or a pattern of ", counted(files.size(), "file")));
}

}  // namespace

void NmtOptions::validate() const {
  TrainOptions::validate();
  validate_task();
}

void NmtOptions::validate_task() const {
  tokenizer.check();
  expect_at_least(2, "--max-length", data.max_length);
  expect(!data.train_sets.empty(), "--train-sets", "a source and a target file, or token stores", "none");
  expect_pairs("--train-sets", data.train_sets);
  expect_pairs("--valid-sets", data.valid_sets);
  expect_one_of({"target", "source", "total", "sentences"}, "--batch-unit", batch.unit);
  for (const std::string& metric : validation.metrics) {
    expect_one_of({"cross-entropy", "perplexity", "bleu", "chrf"}, "--valid-metrics", metric);
  }
  DecodeOptions{.beam_size = valid_beam, .length_penalty = valid_length_penalty}.validate_search("--valid-");
  expect_fraction("--label-smoothing", label_smoothing);
  expect_between(0.0, 1.0, "--bpe-dropout", bpe_dropout);
  expect_one_of({"both", "source", "target"}, "--bpe-dropout-side", bpe_dropout_side);
  expect_finite_at_least(0, "--r-drop", r_drop);
}

}  // namespace gyre
