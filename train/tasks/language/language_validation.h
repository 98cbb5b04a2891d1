// Validation of a language model on held-out samples, which the ranks divide among themselves.
//   "cross-entropy"  nats per predicted token
//   "perplexity"     exponential of the cross-entropy
//   "accuracy"       fraction of the predictions with no token more likely than the correct one, 0..1
//   "bits-per-byte"  bits per byte of the text, if the options ask for it
// With several sets, these are the metrics of all together, and "cross-entropy/SET" and "bits-per-byte/SET" are those
// of one set. Samples are of the first set.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/train/job_context.h"
#include "gyre/train/tasks/language/language_data.h"
#include "gyre/train/tasks/language/language_samples.h"
#include "gyre/train/validation.h"

namespace gyre {

class LanguageValidation final : public Validation {
 public:
  // Every validation predicts the same tokens: of each set, at most options.validation_samples evenly spaced samples.
  LanguageValidation(std::vector<LanguageValidationSet> sets, MakeInput make_input, const LanguageOptions& options,
                     const Vocabulary& vocabulary, const EncoderOnly& model, const JobContext& context);

  ValidationBasis basis() const override;
  ValidationResult run() override;

 private:
  struct Chunk {
    const SampleSource* samples;
    std::vector<uint32_t> indices;
  };
  struct Sums {
    std::vector<double> nll, correct, tokens;  // sums of each chunk
  };

  void add_chunks(const LanguageValidationSet& set, const LanguageOptions& options);
  Sums sums() const;

  std::vector<LanguageValidationSet> sets_;
  MakeInput make_input_;
  std::vector<Chunk> chunks_;  // the samples of each batch, set by set
  std::vector<size_t> ends_;   // number of chunks up to the end of each set
  LanguageSamples samples_;
  const EncoderOnly& model_;
  Kernels& kernels_;
  Precision precision_;
  Communicator& ranks_;
};

}  // namespace gyre
