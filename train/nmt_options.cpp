#include "train/nmt_options.h"

#include "train/option_checks.h"

namespace gyre {

void NmtOptions::validate() const {
  TrainOptions::validate();
  expect(train_sets.size() == 1 || train_sets.size() == 2, "--train-sets",
         "a source and a target file, or one token store", concat(train_sets.size(), " paths"));
  expect(valid_sets.size() <= 2, "--valid-sets", "a source and a target file, or one token store",
         concat(valid_sets.size(), " paths"));
  expect_one_of({"target", "source", "total", "sentences"}, "--batch-unit", batch_unit);
  for (const std::string& metric : valid_metrics) {
    expect_one_of({"cross-entropy", "perplexity", "bleu", "chrf"}, "--valid-metrics", metric);
  }
  expect_at_least(1, "--valid-beam-size", valid_beam);
  expect_finite_at_least(0, "--valid-length-penalty", valid_length_penalty);
  expect_fraction("--label-smoothing", label_smoothing);
}

}  // namespace gyre
