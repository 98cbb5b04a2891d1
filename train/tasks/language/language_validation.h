// Validation of a language model on held-out samples, which the ranks divide among themselves.
//   "cross-entropy"  nats per predicted token
//   "perplexity"     exponential of the cross-entropy
//   "accuracy"       fraction of the predictions whose most likely token is correct, 0..1
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/train/job_context.h"
#include "gyre/train/tasks/language/language_data.h"
#include "gyre/train/validation.h"

namespace gyre {

class LanguageValidation final : public Validation {
 public:
  // Every validation predicts the same tokens.
  LanguageValidation(SharedSamples samples, MakeInput make_input, const LanguageOptions& options,
                     const EncoderOnly& model, const JobContext& context);

  ValidationResult run() override;

 private:
  SharedSamples samples_;
  MakeInput make_input_;
  std::vector<std::vector<uint32_t>> chunks_;  // the samples of each batch
  const EncoderOnly& model_;
  Kernels& kernels_;
  Precision precision_;
  Communicator& ranks_;
};

}  // namespace gyre
