#include "train/nmt_options.h"

#include "models/decode/beam_search.h"
#include "train/option_checks.h"

namespace gyre {

void NmtOptions::validate() const {
  TrainOptions::validate();
  expect_at_least(2, "--max-length", max_length);
  expect(train_sets.size() == 1 || train_sets.size() == 2, "--train-sets",
         "a source and a target file, or one token store", concat(train_sets.size(), " paths"));
  expect(valid_sets.size() <= 2, "--valid-sets", "a source and a target file, or one token store",
         concat(valid_sets.size(), " paths"));
  expect_one_of({"target", "source", "total", "sentences"}, "--batch-unit", batch_unit);
  for (const std::string& metric : valid_metrics) {
    expect_one_of({"cross-entropy", "perplexity", "bleu", "chrf"}, "--valid-metrics", metric);
  }
  DecodeOptions{.beam_size = valid_beam, .length_penalty = valid_length_penalty}.validate_search("--valid-");
  expect_fraction("--label-smoothing", label_smoothing);
}

}  // namespace gyre
