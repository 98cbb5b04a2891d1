#include "models/encoder_only.h"

#include <cmath>

namespace gyre {

namespace {

EncoderOnlyConfig validated(const EncoderOnlyConfig& config) {
  config.validate();
  return config;
}

std::vector<EncoderLayer> make_layers(Parameters& parameters, const EncoderOnlyConfig& c) {
  std::vector<EncoderLayer> layers;
  for (int i = 0; i < c.layers; ++i) layers.emplace_back(parameters, "encoder", i, c);
  return layers;
}

}  // namespace

// Parameters are registered in the order of their first use. The tables start as BERT's do: deviation 0.02.
EncoderOnly::EncoderOnly(const EncoderOnlyConfig& config)
    : config_(validated(config)),
      table_(&parameters_.add("embed_tokens.weight", {config_.vocab_size, config_.dim}, Init::normal(0.02))) {
  const int64_t dim = config_.dim;
  if (config_.token_types > 0)
    type_table_ = &parameters_.add("embed_token_types.weight", {config_.token_types, dim}, Init::normal(0.02));
  positions_ = make_position_encoding(
      {config_.position, dim, config_.heads, parameters_, "encoder.embed_positions", config_.initial_deviation});
  if (config_.embedding_norm)
    embedding_norm_.emplace(parameters_, "encoder.layernorm_embedding", dim, config_.layer_norm_epsilon);
  layers_ = make_layers(parameters_, config_);
  final_norm_ = make_final_norm(parameters_, "encoder", config_);
  if (config_.head_transform) {
    head_dense_.emplace(parameters_, "lm_head.dense", dim, dim, config_.initial_weight(dim, dim));
    head_norm_.emplace(parameters_, "lm_head.layer_norm", dim, config_.layer_norm_epsilon);
  }
  if (config_.output_bias)
    output_bias_ = &parameters_.add("lm_head.bias", {config_.vocab_size}, Init::constant(0), /*decay=*/false);
}

Var EncoderOnly::embed(Tape& tape, const Tensor& ids, const Tensor& token_types, const Tensor& positions) const {
  Var x = embedding(tape.parameter(*table_), ids, config_.scale_embedding ? std::sqrt(double(config_.dim)) : 1);
  if (type_table_) {
    const Tensor types = token_types ? token_types : Tensor::zeros(ids.shape(), DType::i32);
    require(types.size() == ids.size(), "[token types] expected ", ids.size(), ", got ", types.size());
    x = add(x, embedding(tape.parameter(*type_table_), types));
  } else {
    require(!token_types, "[token types] this model has none");
  }
  x = positions_->add_to_embeddings(x, positions);
  return dropout(embedding_norm_ ? (*embedding_norm_)(x) : x, config_.dropout);
}

Var EncoderOnly::encode(Tape& tape, const Tensor& ids, const Segments& segments, const Tensor& token_types) const {
  require(ids.size() == segments.tokens(), "[encoder] expected ", segments.tokens(), " ids, got ", ids.size());
  const Tape::Scope scope(tape, "encoder");
  const RowPositions positions{segment_positions(segments),
                               positions_->rotation(tape, table_->value.dtype(), segments.longest())};
  Var x = embed(tape, ids, token_types, positions.positions);
  for (const EncoderLayer& layer : layers_) x = layer(x, segments, positions, config_.causal);
  return final_norm_ ? (*final_norm_)(x) : x;
}

Var EncoderOnly::head(const Var& states) const {
  return head_dense_ ? (*head_norm_)(head_dense_->activated(states, Activation::gelu)) : states;
}

Var EncoderOnly::logits(const Var& states) const {
  Tape& tape = states.tape();
  const Tape::Scope scope(tape, "lm_head");
  return linear(head(states), tape.parameter(*table_), output_bias_ ? tape.parameter(*output_bias_) : Var());
}

LossResult EncoderOnly::loss(Tape& tape, const MaskedInput& batch) const {
  const int64_t predicted = batch.masked_rows ? batch.masked_rows.size() : batch.ids.size();
  require(predicted == batch.targets.size(), "[masked rows] expected as many targets as rows, ", predicted, ", got ",
          batch.targets.size());
  const Var all = encode(tape, batch.ids, batch.segments, batch.token_types);
  const Var states = batch.masked_rows ? gather_rows(all, batch.masked_rows) : all;
  const Tape::Scope scope(tape, "lm_head");
  return linear_cross_entropy(head(states), tape.parameter(*table_),
                              output_bias_ ? tape.parameter(*output_bias_) : Var(), batch.targets, 0);
}

}  // namespace gyre
