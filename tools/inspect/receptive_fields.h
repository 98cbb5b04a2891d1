// The receptive fields of fresh and of trained causal language models, each the mean over some texts.
#pragma once

#include <string>
#include <vector>

#include "core/file.h"
#include "core/kernels.h"
#include "models/encoder_only.h"
#include "train/log/progress.h"

namespace gyre {

// What was measured of a model: a line of the picture.
struct ReceptiveField {
  std::string name, position;
  int trained_length = 0;          // 0: random weights
  std::vector<double> cumulative;  // c_t of train/receptive_field.h
  // The share of the tokens that are further away than any in training.
  double beyond_training() const;
};

struct ReceptiveFieldOptions {
  EncoderOnlyConfig fresh = EncoderOnlyConfig::preset("lm-tiny");
  std::vector<Path> inputs;  // what trained models read; none: ids drawn evenly from the vocabulary
  std::string checkpoint;    // of trained models
  int length = 0;            // tokens of a text; of a trained model at most its positions
  int samples = 8;           // texts
  uint64_t seed = 1;
};

// Shows how far the work is. `options` and `kernels` must outlive it.
class ReceptiveFields {
 public:
  ReceptiveFields(const ReceptiveFieldOptions& options, Kernels& kernels, size_t models)
      : options_(options), kernels_(kernels), line_({.total = int64_t(models) * options.samples}) {}

  // Each text meets weights of its own. Throws UsageError for a model that cannot be.
  ReceptiveField fresh(const std::string& position);
  // Throws for a run that is no causal language model, and for too short a text.
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
