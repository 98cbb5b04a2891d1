#include "gyre/train/tasks/language/language_options.h"

#include "gyre/core/option_checks.h"

namespace gyre {

SampleOptions LanguageOptions::samples(SampleOptions::Task task) const {
  return {.task = task,
          .fill = SampleOptions::parse_fill(fill),
          .across_documents = across_documents,
          .max_length = data.max_length,
          .validation_share = validation_share};
}

void LanguageOptions::validate() const {
  TrainOptions::validate();
  tokenizer.check();
  expect(!data.train_sets.empty(), "--train-sets", "text files or a token store", "nothing");
  expect_at_least(3, "--max-length", data.max_length);
  expect_one_of({"total", "sentences"}, "--batch-unit", batch.unit);
  expect_one_of({"blank-line", "line", "whole"}, "--documents", documents);
  expect_one_of({"full", "sentences", "segment"}, "--fill", fill);
  expect(documents != "whole" || fill == "full", "--fill", "full with --documents whole, which has no sentences", fill);
  expect(!across_documents || fill != "segment", "--across-documents", "off with --fill segment", "on");
  expect_fraction("--valid-share", validation_share);
  expect(validation_share == 0 || data.valid_sets.empty(), "--valid-share", "0 with --valid-sets", validation_share);
  for (const std::string& metric : validation.metrics)
    expect_one_of({"cross-entropy", "perplexity", "accuracy"}, "--valid-metrics", metric);
}

void MaskedOptions::validate() const {
  LanguageOptions::validate();
  expect(mask_share > 0 && mask_share <= 1, "--mask-share", "a number above 0 and up to 1", mask_share);
  expect_one_of({"exact", "independent"}, "--mask-draw", mask_draw);
}

}  // namespace gyre
