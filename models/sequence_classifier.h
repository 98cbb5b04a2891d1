// A classifier of texts, or a regression on them: an encoder's stack, and BERT's or RoFormer's head on the first row of
// each text (models/config.h). Parameter names: those of the stack, then, as fairseq has them,
// classification_head.dense.weight and classification_head.out_proj.weight with their biases.
#pragma once

#include <string_view>

#include "models/encoder_stack.h"

namespace gyre {

inline constexpr std::string_view kClassificationHead = "classification_head.";  // of its parameters' names

// A packed batch of texts, [CLS] first in each. Ids and types are i32.
struct LabelledInput {
  Tensor ids;  // (tokens)
  Segments texts;
  Tensor labels;            // (texts): the class, i32, below 0 where unknown; the number, f32, for regression
  Tensor token_types = {};  // (tokens); undefined: all 0
};

class SequenceClassifier {
 public:
  using Config = ClassifierConfig;

  explicit SequenceClassifier(const ClassifierConfig& config);  // validates; as EncoderOnly

  const ClassifierConfig& config() const { return config_; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  // (texts, classes): a logit for each class, or the number. Labels are not read and may be missing.
  Var outputs(Tape& tape, const LabelledInput& batch) const;

  // Cross-entropy or squared error, summed over the texts.
  LossResult loss(Tape& tape, const LabelledInput& batch) const;

  // The longest text that has positions.
  int64_t longest() const { return stack_.positions().longest(); }

 private:
  ClassifierConfig config_;
  Parameters parameters_;
  EncoderStack stack_;
  LinearLayer dense_, output_;
};

}  // namespace gyre
