// The training options of text classifiers and regressions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gyre/data/text/text_tasks.h"
#include "gyre/train/tasks/fine_tuning_options.h"

namespace gyre {

// data.train_sets and data.valid_sets: tab-separated rows. The defaults are those of BERT for fine-tuning (Devlin et
// al. 2019, A.3); a model with random weights needs a higher learning rate.
struct ClassifyOptions : FineTuningOptions {
  ClassifyOptions();
  LabeledFormat format;  // columns and classes

  void declare(OptionList& list) override { declare(list, {}); }
  std::unique_ptr<TrainOptions> with_defaults() const override { return std::make_unique<ClassifyOptions>(); }
  // The metrics of a validation, of classifiers or of regressions.
  static std::vector<std::string> metrics(bool is_regression);
  // `valid_metrics`: the words of --valid-metrics, for help and completion.
  void declare(OptionList& list, std::vector<std::string> valid_metrics);
  void validate() const;  // throws a UsageError if an option is invalid
};

// Throws a UsageError unless the labels differ and have no tabs and line ends: they are cells of tab-separated files,
// and keys of predictions.
void check_labels(const std::vector<std::string>& labels);

}  // namespace gyre
