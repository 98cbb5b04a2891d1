// Validation of a classifier on labeled rows: the loss and the metrics in options.valid_metrics
// (train/tasks/classification/scores.h).
#pragma once

#include <string>
#include <vector>

#include "gyre/core/hexadecimal.h"
#include "gyre/train/job_context.h"
#include "gyre/train/options.h"
#include "gyre/train/tasks/classification/scores.h"
#include "gyre/train/validation.h"

namespace gyre {

class ClassifyValidation final : public Validation {
 public:
  ClassifyValidation(LabeledIds rows, const SequenceClassifier& model, const JobContext& context,
                     const ValidationOptions& options);

  ValidationBasis basis() const override { return {{"valid-sets", hexadecimal(rows_.checksum())}}; }
  ValidationResult run() override;

 private:
  LabeledIds rows_;
  const SequenceClassifier& model_;
  Kernels& kernels_;
  Communicator& ranks_;
  size_t mini_batch_;
  Precision precision_;
  std::vector<std::string> metrics_;
};

}  // namespace gyre
