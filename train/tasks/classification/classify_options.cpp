#include "gyre/train/tasks/classification/classify_options.h"

#include "gyre/core/option_checks.h"

namespace gyre {

ClassifyOptions::ClassifyOptions() {
  data.max_length = 128;
  batch.size = 32;
  batch.unit = "sentences";
  batch.maxi_batch = 1;  // batches have no padding, so mixed lengths cost nothing and make better batches
  optimizer.kind = "adamw";
  optimizer.schedule.learning_rate = kFineTuningRate;
  optimizer.beta2 = 0.999;
  optimizer.epsilon = 1e-6;
  optimizer.weight_decay = 0.01;
  optimizer.clip_norm = 1;
  optimizer.schedule.kind = "linear";
  optimizer.schedule.warmup_percent = 10;
  stop.after = {3, Period::Unit::epochs};
  checkpoint.every = validation.every = {1, Period::Unit::epochs};
  checkpoint.saving.keep_last = 1;
}

void ClassifyOptions::validate() const {
  TrainOptions::validate();
  tokenizer.check();
  expect(data.train_sets.size() == 1, "--train-sets", "one file", concat(data.train_sets.size(), " paths"));
  expect(data.valid_sets.size() <= 1, "--valid-sets", "one file", concat(data.valid_sets.size(), " paths"));
  expect(data.vocabulary.empty() != pretrained_model.empty(), "--vocab",
         "a vocabulary, or --pretrained-model with its own", data.vocabulary.empty() ? "neither" : "both");
  expect(!from_scratch || !pretrained_model.empty(), "--from-scratch",
         "a --pretrained-model, whose architecture it uses", "none");
  expect_one_of({"sentences", "total"}, "--batch-unit", batch.unit);
  expect(format.label.has_value(), "--label-column", "a column", "none");
  expect(format.is_regression() || format.classes.size() >= 2, "--labels", "at least two classes",
         format.classes.size());
  for (const std::string& metric : validation.metrics) {
    if (format.is_regression()) {
      expect_one_of({"mean-squared-error", "pearson", "spearman"}, "--valid-metrics", metric);
    } else {
      expect_one_of({"cross-entropy", "accuracy", "f1", "macro-f1", "matthews"}, "--valid-metrics", metric);
      expect(metric != "f1" || format.classes.size() == 2, "--valid-metrics", "macro-f1 with more than two classes",
             metric);
    }
  }
  expect_one_of({"auto", "bert", "roformer"}, "--head", head);
  expect_fraction("--classifier-dropout", classifier_dropout);
}

}  // namespace gyre
