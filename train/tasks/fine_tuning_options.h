// The options of the tasks that train an encoder with a classification head, from a pretrained model or from random
// weights.
#pragma once

#include <optional>
#include <string>

#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/models/config/config.h"
#include "gyre/train/options.h"

namespace gyre {

// data.train_sets and data.valid_sets: one file each. batch.unit: sentences (items of the task) or total tokens.
struct FineTuningOptions : TrainOptions {
  static constexpr double kFromScratchRate = 3e-4;  // default peak learning rate for random weights

  // `fine_tuning_rate`: the default peak learning rate for a pretrained model.
  explicit FineTuningOptions(double fine_tuning_rate);

  TokenizerChoice tokenizer;  // way to read the vocabulary, if there is no pretrained_model
  // An encoder (train/tasks/fine_tuning.h). Empty: a new model from a config and `vocabulary`.
  Path pretrained_model;
  bool from_scratch = false;           // use only the architecture and the vocabulary of pretrained_model
  std::optional<ClassifierHead> head;  // empty: roformer for an encoder with rope, else bert
  double classifier_dropout = 0.1;

  bool starts_from_random_weights() const { return pretrained_model.empty() || from_scratch; }
  double fine_tuning_rate() const { return fine_tuning_rate_; }
  double default_learning_rate() const { return starts_from_random_weights() ? kFromScratchRate : fine_tuning_rate_; }
  void validate() const;  // throws a UsageError if an option is invalid

 protected:
  // Lists the options that these tasks share. `item`: the element of a batch, in the plural ("rows"); `valid_item`:
  // that of a validation batch.
  void declare_fine_tuning(OptionList& list, const std::string& item, const std::string& valid_item,
                           std::vector<std::string> valid_metrics);

 private:
  double fine_tuning_rate_;
};

}  // namespace gyre
