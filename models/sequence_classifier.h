// Text classification or regression: an encoder stack, and a head on the first row or the mean of the rows of each text
// (ClassifierHead in models/config/config.h). The head's parameters have fairseq's names:
// classification_head.dense.weight and classification_head.out_proj.weight, with their biases. The head `mean` has no
// dense layer.
#pragma once

#include <optional>
#include <string_view>

#include "gyre/models/encoder_only.h"

namespace gyre {

inline constexpr std::string_view kClassificationHead = "classification_head.";  // prefix of the head's parameter names

// A packed batch of texts, each beginning with [CLS]. Ids and types are i32.
struct LabeledInput {
  Tensor ids;  // (tokens)
  Segments texts;
  Tensor labels;            // (texts): i32 classes, negative if unknown; for regression, f32 values
  Tensor token_types = {};  // (tokens); undefined: all 0
};

class SequenceClassifier {
 public:
  using Config = ClassifierConfig;

  // Throws an Error if the config is invalid. The parameters have values after parameters().allocate().
  explicit SequenceClassifier(const ClassifierConfig& config);

  const ClassifierConfig& config() const { return config_; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  // Output of the stack: (tokens, dim). Labels are not read and may be undefined.
  Var encode(Tape& tape, const LabeledInput& batch) const {
    return stack_.encode(tape, batch.ids, batch.texts, batch.token_types);
  }
  // (texts, classes): a logit for each class, or for regression the predicted value, of the output of the stack.
  Var outputs(const Var& states, const Segments& texts) const;
  Var outputs(Tape& tape, const LabeledInput& batch) const { return outputs(encode(tape, batch), batch.texts); }

  // Cross-entropy or squared error, summed over the texts.
  LossResult loss(Tape& tape, const LabeledInput& batch) const;

  // The maximum length of a text that the position encoding supports.
  int64_t longest() const { return stack_.positions().longest(); }

 private:
  // Returns the input of the output layer, (texts, dim).
  Var pooled(const Var& states, const Segments& texts) const;

  ClassifierConfig config_;
  Parameters parameters_;
  EncoderStack stack_;
  std::optional<LinearLayer> dense_;
  LinearLayer output_;
};

}  // namespace gyre
