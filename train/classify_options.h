// The options of training a classifier of texts, or a regression on them: those of every run, and its own.
#pragma once

#include "data/text_tasks.h"
#include "models/config.h"
#include "train/options.h"

namespace gyre {

// train_sets and valid_sets: a file of tab-separated rows each. batch_unit: sentences (rows), or total tokens.
// valid_metrics: cross-entropy, accuracy, f1, macro-f1, matthews; for regression mean-squared-error, pearson, spearman.
// The defaults are BERT's for fine-tuning (Devlin et al. 2019, A.3); a model that starts from random weights wants
// another learning rate.
struct ClassifyOptions : TrainOptions {
  static constexpr double kFineTuningRate = 2e-5, kFromScratchRate = 3e-4;

  ClassifyOptions();
  LabelledFormat format;      // columns and classes
  Path pretrained_model;      // of an encoder (train/pretrained.h); empty: the model starts anew, from a config and
                              // `vocabulary`
  bool from_scratch = false;  // only architecture and vocabulary of pretrained_model
  std::string head = "auto";  // bert, roformer, or auto: roformer's for an encoder with rope, else bert's
  double classifier_dropout = 0.1;

  bool starts_from_random_weights() const { return pretrained_model.empty() || from_scratch; }
  double default_learning_rate() const { return starts_from_random_weights() ? kFromScratchRate : kFineTuningRate; }
  void validate() const;  // throws UsageError
};

}  // namespace gyre
