#include "gyre/train/tasks/fine_tuning_options.h"

#include "gyre/core/option_checks.h"

namespace gyre {

FineTuningOptions::FineTuningOptions(double fine_tuning_rate) : fine_tuning_rate_(fine_tuning_rate) {
  batch.unit = "sentences";
  batch.maxi_batch = 1;  // batches have no padding, so mixed lengths cost nothing and make better batches
  optimizer.schedule.learning_rate = fine_tuning_rate;
  optimizer.beta2 = 0.999;
  checkpoint.every = validation.every = {1, Period::Unit::epochs};
  checkpoint.saving.keep_last = 1;
}

void FineTuningOptions::validate() const {
  TrainOptions::validate();
  tokenizer.check();
  expect(data.train_sets.size() == 1, "--train-sets", "one file", concat(data.train_sets.size(), " paths"));
  expect(data.valid_sets.size() <= 1, "--valid-sets", "one file", concat(data.valid_sets.size(), " paths"));
  expect(data.vocabulary.empty() != pretrained_model.empty(), "--vocab",
         "a vocabulary, or --pretrained-model with its own", data.vocabulary.empty() ? "neither" : "both");
  expect(!from_scratch || !pretrained_model.empty(), "--from-scratch",
         "a --pretrained-model, whose architecture it uses", "none");
  expect_one_of({"sentences", "total"}, "--batch-unit", batch.unit);
  expect_one_of({"auto", "bert", "roformer", "mean"}, "--head", head);
  expect_fraction("--classifier-dropout", classifier_dropout);
}

}  // namespace gyre
