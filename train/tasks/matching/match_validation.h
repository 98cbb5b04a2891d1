// Validation of text matching: the loss and the metrics in options.metrics (train/tasks/matching/match_objective.h).
#pragma once

#include "gyre/core/hexadecimal.h"
#include "gyre/train/job_context.h"
#include "gyre/train/options.h"
#include "gyre/train/tasks/matching/match_objective.h"
#include "gyre/train/validation.h"

namespace gyre {

class MatchValidation final : public Validation {
 public:
  MatchValidation(LabeledIds pairs, const SequenceClassifier& model, const JobContext& context,
                  const MatchObjective& objective, const ValidationOptions& options);

  ValidationBasis basis() const override { return {{"valid-sets", hexadecimal(pairs_.checksum())}}; }
  ValidationResult run() override;

 private:
  LabeledIds pairs_;
  const SequenceClassifier& model_;
  JobContext context_;
  MatchObjective objective_;
  ValidationOptions options_;
};

}  // namespace gyre
