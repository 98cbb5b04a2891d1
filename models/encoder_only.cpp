#include "models/encoder_only.h"

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

// Parameters are registered in the order of their first use. The table starts as BERT's does: deviation 0.02.
EncoderOnly::EncoderOnly(const EncoderOnlyConfig& config)
    : config_(validated(config)),
      table_(&parameters_.add("embed_tokens.weight", {config_.vocab_size, config_.dim}, Init::normal(0.02))),
      positions_(make_position_encoding(
          {config_.position, config_.dim, config_.heads, parameters_, "encoder.embed_positions"})),
      layers_(make_layers(parameters_, config_)),
      final_norm_(make_final_norm(parameters_, "encoder", config_)),
      head_dense_(parameters_, "lm_head.dense", config_.dim, config_.dim),
      head_norm_(parameters_, "lm_head.layer_norm", config_.dim, config_.layer_norm_epsilon) {
  if (config_.output_bias)
    output_bias_ = &parameters_.add("lm_head.bias", {config_.vocab_size}, Init::constant(0), /*decay=*/false);
}

Var EncoderOnly::encode(Tape& tape, const Tensor& ids, const Segments& segments) const {
  require(ids.size() == segments.tokens(), "[encoder] expected ", segments.tokens(), " ids, got ", ids.size());
  const Tape::Scope scope(tape, "encoder");
  const RowPositions positions{segment_positions(segments),
                               positions_->rotation(tape, table_->value.dtype(), segments.longest())};
  const Var embedded = embedding(tape.parameter(*table_), ids);
  Var x = dropout(positions_->add_to_embeddings(embedded, positions.positions), config_.dropout);
  for (const EncoderLayer& layer : layers_) x = layer(x, segments, positions);
  return final_norm_ ? (*final_norm_)(x) : x;
}

Var EncoderOnly::head(const Var& states) const { return head_norm_(head_dense_.activated(states, Activation::gelu)); }

Var EncoderOnly::logits(const Var& states) const {
  Tape& tape = states.tape();
  const Tape::Scope scope(tape, "lm_head");
  return linear(head(states), tape.parameter(*table_), output_bias_ ? tape.parameter(*output_bias_) : Var());
}

LossResult EncoderOnly::loss(Tape& tape, const MaskedInput& batch) const {
  require(batch.masked_rows.size() == batch.targets.size(), "[masked rows] expected as many targets as rows, ",
          batch.masked_rows.size(), ", got ", batch.targets.size());
  const Var states = gather_rows(encode(tape, batch.ids, batch.segments), batch.masked_rows);
  if (output_bias_) return cross_entropy(logits(states), batch.targets, 0);
  const Tape::Scope scope(tape, "lm_head");
  return linear_cross_entropy(head(states), tape.parameter(*table_), batch.targets, 0);
}

}  // namespace gyre
