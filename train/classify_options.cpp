#include "train/classify_options.h"

#include "train/option_checks.h"

namespace gyre {

ClassifyOptions::ClassifyOptions() {
  max_length = 128;
  batch_words = 32;
  batch_unit = "sentences";
  maxi_batch = 1;  // there is no padding to save: batches of mixed lengths are better batches
  optimizer.kind = "adamw";
  optimizer.learning_rate = kFineTuningRate;
  optimizer.beta2 = 0.999;
  optimizer.epsilon = 1e-6;
  optimizer.weight_decay = 0.01;
  optimizer.clip_norm = 1;
  optimizer.schedule = "linear";
  optimizer.warmup_percent = 10;
  after = {3, Period::Unit::epochs};
  save_every = validate_every = {1, Period::Unit::epochs};
  keep_last = 1;
}

void ClassifyOptions::validate() const {
  TrainOptions::validate();
  expect(train_sets.size() == 1, "--train-sets", "one file", concat(train_sets.size(), " paths"));
  expect(valid_sets.size() <= 1, "--valid-sets", "one file", concat(valid_sets.size(), " paths"));
  expect(vocabulary.empty() != pretrained_model.empty(), "--vocab", "a vocabulary, or --pretrained-model with its own",
         vocabulary.empty() ? "neither" : "both");
  expect(!from_scratch || !pretrained_model.empty(), "--from-scratch", "a --pretrained-model to take the shape of",
         "none");
  expect_one_of({"sentences", "total"}, "--batch-unit", batch_unit);
  expect(format.label.has_value(), "--label-column", "a column", "none");
  expect(format.is_regression() || format.classes.size() >= 2, "--labels", "at least two classes",
         format.classes.size());
  for (const std::string& metric : valid_metrics) {
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
