// The training options of text classifiers and regressions.
#pragma once

#include "gyre/data/text/text_tasks.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/models/config/config.h"
#include "gyre/train/options.h"

namespace gyre {

// data.train_sets and data.valid_sets: one file of tab-separated rows each. batch.unit: sentences (rows) or total
// tokens. validation.metrics: cross-entropy, accuracy, f1, macro-f1, matthews; for regression mean-squared-error,
// pearson, spearman. The defaults are those of BERT for fine-tuning (Devlin et al. 2019, A.3); a model with
// random weights needs a higher learning rate.
struct ClassifyOptions : TrainOptions {
  static constexpr double kFineTuningRate = 2e-5, kFromScratchRate = 3e-4;

  ClassifyOptions();
  LabeledFormat format;       // columns and classes
  TokenizerChoice tokenizer;  // how to read the vocabulary, if there is no pretrained_model
  // An encoder (train/pretrained/pretrained.h). Empty: a new model from a config and `vocabulary`.
  Path pretrained_model;
  bool from_scratch = false;  // use only the architecture and the vocabulary of pretrained_model
  std::string head = "auto";  // bert, roformer, or auto: roformer for an encoder with rope, else bert
  double classifier_dropout = 0.1;

  bool starts_from_random_weights() const { return pretrained_model.empty() || from_scratch; }
  double default_learning_rate() const { return starts_from_random_weights() ? kFromScratchRate : kFineTuningRate; }
  void validate() const;  // throws a UsageError if an option is invalid
};

}  // namespace gyre
