#include "gyre/models/encoder_only.h"

namespace gyre {

namespace {

EncoderOnlyConfig validated(const EncoderOnlyConfig& config) {
  config.validate();
  return config;
}

}  // namespace

EncoderOnly::EncoderOnly(const EncoderOnlyConfig& config) : config_(validated(config)), stack_(parameters_, config_) {
  const int64_t dim = config_.dim, width = config_.embedding_width();
  if (config_.head_transform) {
    head_dense_.emplace(parameters_, "lm_head.dense", dim, width, config_.initial_weight(dim, width),
                        config_.has_biases());
    head_norm_.emplace(parameters_, "lm_head.layer_norm", width, config_.norm_type, config_.biases != Biases::none,
                       config_.layer_norm_epsilon);
  }
  if (!config_.tied_output)
    output_weight_ = &parameters_.add("lm_head.weight", {config_.vocab_size, width}, Init::normal(0.02));
  if (config_.output_bias)
    output_bias_ = &parameters_.add("lm_head.bias", {config_.vocab_size}, Init::constant(0), /*decay=*/false);
}

std::string EncoderOnly::continuing_obstacle() const { return config_.causal ? "" : "the model is bidirectional"; }

Var EncoderOnly::advance(Tape& tape, const Tensor& ids, const Segments& chunk, TokenCache& cache) const {
  const std::string reason = continuing_obstacle();
  require(reason.empty(), "[advance] expected a model that can continue texts: ", reason);
  return stack_.advance(tape, ids, chunk, cache);
}

Var EncoderOnly::head(const Var& states) const {
  return head_dense_ ? (*head_norm_)(head_dense_->activated(states, config_.activation)) : states;
}

Var EncoderOnly::logits(const Var& states) const {
  Tape& tape = states.tape();
  const Tape::Scope scope(tape, "lm_head");
  return linear(head(states), tape.parameter(output_weight()), output_bias_ ? tape.parameter(*output_bias_) : Var());
}

LossResult EncoderOnly::loss(Tape& tape, const MaskedInput& batch, const CrossEntropyOptions& options) const {
  const int64_t predicted = batch.masked_rows ? batch.masked_rows.size() : batch.ids.size();
  require(predicted == batch.targets.size(), "[masked rows] expected as many targets as rows, ", predicted, ", got ",
          batch.targets.size());
  const Var all = encode(tape, batch.ids, batch.segments, batch.token_types);
  return loss(batch.masked_rows ? gather_rows(all, batch.masked_rows) : all, batch.targets, options);
}

LossResult EncoderOnly::loss(const Var& states, const Tensor& targets, const CrossEntropyOptions& options) const {
  Tape& tape = states.tape();
  const Tape::Scope scope(tape, "lm_head");
  return linear_cross_entropy(head(states), tape.parameter(output_weight()),
                              output_bias_ ? tape.parameter(*output_bias_) : Var(), targets, options);
}

}  // namespace gyre
