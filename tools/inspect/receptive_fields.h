// Receptive fields of untrained and trained causal language models, averaged over several texts.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/log/progress.h"
#include "tools/options/bos_choice.h"

namespace gyre {

// The measured receptive field of a model: one curve of the picture.
struct ReceptiveField {
  std::string name, position;
  int trained_length = 0;          // 0: random weights
  std::vector<double> cumulative;  // c_t of train/analysis/receptive_field.h
  // The share of the tokens beyond the training length; 0 for random weights.
  double beyond_training() const;
};

struct ReceptiveFieldOptions {
  EncoderOnlyConfig untrained = EncoderOnlyConfig::preset("lm-tiny");
  std::vector<Path> inputs;  // text for trained models; none: ids drawn uniformly from the vocabulary
  std::string checkpoint;    // checkpoint of trained models
  BosChoice bos;             // choice for text
  int length = 0;            // tokens per text; limited by the positions of a trained model
  int samples = 8;           // number of texts
  uint64_t seed = 1;
};

// Measures the models one by one and shows the progress. `options` and `kernels` must outlive it.
class ReceptiveFields {
 public:
  ReceptiveFields(const ReceptiveFieldOptions& options, Kernels& kernels, size_t models)
      : options_(options), kernels_(kernels), line_({.total = int64_t(models) * options.samples}) {}

  // Draws new weights for each text. Throws UsageError for an invalid configuration.
  ReceptiveField untrained(const std::string& position);
  // Throws Error for a run that is not a causal language model and for a text that is too short.
  ReceptiveField trained(const Path& run);

 private:
  using Text = std::vector<int32_t>;
  Text random_text(int sample, int64_t length, int64_t vocabulary) const;
  std::vector<Text> texts_of(const Path& run, const EncoderOnly& model) const;
  void add(ReceptiveField& field, const EncoderOnly& model, const Text& text);

  const ReceptiveFieldOptions& options_;
  Kernels& kernels_;
  ProgressLine line_;
  int64_t done_ = 0;
};

}  // namespace gyre
