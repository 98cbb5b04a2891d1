// The outputs of a language model for a few validation samples, as text: words in place of masks, or continuations.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/train/job_context.h"
#include "gyre/train/tasks/language/language_data.h"
#include "gyre/train/validation.h"

namespace gyre {

class LanguageSamples {
 public:
  // Takes the beginnings of at most 4 samples that are spread over all.
  LanguageSamples(const SampleSource& samples, const MakeInput& make_input, const Vocabulary& vocabulary,
                  const EncoderOnly& model, const JobContext& context);

  // For a masked model, the source is the text with masks, and the output has the most likely tokens in their place.
  // For a causal model, the output is the greedy continuation of the source, and the reference the text's own
  // continuation. Returns none, with a warning, if an output has no most likely tokens.
  std::vector<ValidationSample> run() const;

 private:
  struct Excerpt {
    std::vector<int32_t> ids = {};                 // ids that the model reads
    std::vector<int32_t> rows = {}, targets = {};  // a masked model's places to predict, and their pieces
    std::vector<int32_t> continuation = {};        // continuation by a causal model
  };

  void add_masked(const MaskedInput& input);
  void add_prompt(const MaskedInput& input);
  std::vector<int32_t> predictions() const;  // predictions for all rows of all excerpts
  std::vector<ValidationSample> filled() const;
  std::vector<ValidationSample> continued() const;

  std::vector<Excerpt> excerpts_;
  const Vocabulary& vocabulary_;
  const EncoderOnly& model_;
  Kernels& kernels_;
  Precision precision_;
};

}  // namespace gyre
