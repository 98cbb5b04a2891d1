// The options of training a translation model: those of every run, and its own.
#pragma once

#include "train/options.h"

namespace gyre {

// train_sets and valid_sets: a source and a target file, or one token store. batch_unit: target, source or total
// tokens, or sentences. valid_metrics: cross-entropy, perplexity, bleu, chrf.
struct NmtOptions : TrainOptions {
  NmtOptions() {
    batch_unit = "target";
    valid_metrics = {"cross-entropy", "bleu"};
  }
  double label_smoothing = 0.1;
  int valid_beam = 4;
  double valid_length_penalty = 0.6;
  void validate() const;  // throws UsageError
};

}  // namespace gyre
