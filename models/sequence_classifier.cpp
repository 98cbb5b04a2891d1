#include "gyre/models/sequence_classifier.h"

namespace gyre {
namespace {

ClassifierConfig validated(const ClassifierConfig& config) {
  config.validate();
  return config;
}

LinearLayer head_layer(Parameters& parameters, const char* name, const EncoderOnlyConfig& c, int64_t out) {
  return {parameters, std::string(kClassificationHead) + name, c.dim, out, c.initial_weight(c.dim, out)};
}

Tensor first_rows(const Segments& texts) {
  std::vector<int32_t> rows;
  for (int i = 0; i < texts.count(); ++i) {
    require(texts.length(i) > 0, "[classifier] text ", i, " of the batch: expected at least one token, got none");
    rows.push_back(texts.begin(i));
  }
  return Tensor::from({int64_t(rows.size())}, rows);
}

}  // namespace

SequenceClassifier::SequenceClassifier(const ClassifierConfig& config)
    : config_(validated(config)),
      stack_(parameters_, config_.encoder),
      dense_(config_.head == ClassifierHead::mean
                 ? std::nullopt
                 : std::optional(head_layer(parameters_, "dense", config_.encoder, config_.encoder.dim))),
      output_(head_layer(parameters_, "out_proj", config_.encoder, config_.classes)) {
  output_.set_matrices({});  // not inside the model
}

Var SequenceClassifier::outputs(const Var& states, const Segments& texts) const {
  const Tape::Scope scope(states.tape(), "classification_head");
  return output_(pooled(states, texts));
}

Var SequenceClassifier::pooled(const Var& states, const Segments& texts) const {
  if (!dense_) return dropout(segment_mean(states, texts), config_.dropout);
  const Var first = gather_rows(states, first_rows(texts));
  const bool bert = config_.head == ClassifierHead::bert;
  const Activation activation = bert ? Activation::tanh : config_.encoder.activation;
  return dense_->activated(bert ? first : dropout(first, config_.dropout), activation, config_.dropout);
}

LossResult SequenceClassifier::loss(Tape& tape, const LabeledInput& batch) const {
  const Var predicted = outputs(tape, batch);
  return config_.is_regression() ? squared_error(predicted, batch.labels) : cross_entropy(predicted, batch.labels);
}

}  // namespace gyre
