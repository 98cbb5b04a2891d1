#include "gyre/train/tasks/translation/nmt_options.h"

#include <algorithm>

#include "gyre/core/option_checks.h"
#include "gyre/data/store/token_store.h"
#include "gyre/models/decode/beam_search.h"

namespace gyre {

namespace {

bool are_stores(const std::vector<Path>& files) {
  return std::all_of(files.begin(), files.end(), [](const Path& file) { return TokenStore::recognizes(file); });
}

}  // namespace

void NmtOptions::validate() const {
  TrainOptions::validate();
  validate_task();
}

void NmtOptions::validate_task() const {
  tokenizer.check();
  expect_at_least(2, "--max-length", data.max_length);
  expect(!data.train_sets.empty() && (data.train_sets.size() <= 2 || are_stores(data.train_sets)), "--train-sets",
         "a source and a target file, or token stores", concat(data.train_sets.size(), " paths"));
  expect(data.valid_sets.size() <= 2 || are_stores(data.valid_sets), "--valid-sets",
         "a source and a target file, or token stores", concat(data.valid_sets.size(), " paths"));
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
