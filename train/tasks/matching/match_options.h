// The training options of text matching.
#pragma once

#include <memory>

#include "gyre/train/tasks/fine_tuning_options.h"
#include "gyre/train/tasks/matching/match_objective.h"

namespace gyre {

// data.train_sets and data.valid_sets: triplets (data/text/labeled_text.h). batch.unit: sentences (triplets) or total
// tokens. The defaults are those that Su et al. published for RoFormer on CAIL2019-SCM (RoFormer, 2021;
// finetune_scm.py): mean pooling, binary cross-entropy of single pairs, 4 triplets per update, Adam with the constant
// rate 6e-6 and epsilon 1e-6, 20 epochs, and the best of them by accuracy.
struct MatchOptions : FineTuningOptions {
  MatchOptions();

  MatchObjective objective;
  // The probability that the texts of a triplet's pairs trade places in training: [CLS] b [SEP] a [SEP]. It is drawn
  // for each triplet and epoch.
  double swap = 0;

  void declare(OptionList& list) override;
  std::unique_ptr<TrainOptions> with_defaults() const override { return std::make_unique<MatchOptions>(); }
  void validate() const;  // throws a UsageError if an option is invalid
};

}  // namespace gyre
