// Validation of a language model on held-out samples; the work is shared by the ranks.
//   "cross-entropy": nats per predicted token; "perplexity": its exponential; "accuracy": the share of predicted tokens
//   that are the likeliest, 0..1.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernels.h"
#include "train/communicator.h"
#include "train/language_data.h"
#include "train/training_model.h"
#include "train/validation.h"

namespace gyre {

class LanguageValidation final : public Validation {
 public:
  // The same tokens are predicted each time.
  LanguageValidation(SharedSamples samples, MakeShard make_shard, const LanguageOptions& options,
                     const TrainingModel& model, Kernels& kernels, Communicator& ranks);

  ValidationResult run() override;

 private:
  SharedSamples samples_;
  MakeShard make_shard_;
  std::vector<std::vector<uint32_t>> chunks_;  // samples that are worked through at a time
  const TrainingModel& model_;
  Kernels& kernels_;
  Precision precision_;
  Communicator& ranks_;
};

}  // namespace gyre
