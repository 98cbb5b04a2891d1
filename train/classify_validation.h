// Validation of a classifier on labelled rows: its loss, and the metrics that are asked for (train/predictions.h).
#pragma once

#include <string>
#include <vector>

#include "train/classify_options.h"
#include "train/predictions.h"
#include "train/validation.h"

namespace gyre {

class ClassifyValidation final : public Validation {
 public:
  ClassifyValidation(LabelledIds rows, const SequenceClassifier& model, Kernels& kernels, Communicator& ranks,
                     const ClassifyOptions& options);

  ValidationResult run() override;

 private:
  LabelledIds rows_;
  const SequenceClassifier& model_;
  Kernels& kernels_;
  Communicator& ranks_;
  size_t mini_batch_;
  Precision precision_;
  std::vector<std::string> metrics_;
};

}  // namespace gyre
