#include "gyre/models/encoder_only.h"

#include <algorithm>
#include <cmath>

namespace gyre {

// The tables are initialized as in BERT: normal with deviation 0.02.
EncoderStack::EncoderStack(Parameters& parameters, const EncoderOnlyConfig& c)
    : scale_(c.scale_embedding ? std::sqrt(double(c.dim)) : 1),
      dropout_(c.dropout),
      causal_(c.causal),
      table_(&parameters.add_table("embed_tokens.weight", {c.vocab_size, c.embedding_width()}, Init::normal(0.02))) {
  const int64_t width = c.embedding_width();
  if (c.token_types > 0)
    type_table_ = &parameters.add("embed_token_types.weight", {c.token_types, width}, Init::normal(0.02));
  positions_ = make_position_encoding({c.position, c.dim, c.heads, parameters, "encoder.embed_positions",
                                       c.initial_deviation, c.layers, c.attention.rotated_width(c.head_width())});
  if (c.embedding_norm) {
    embedding_norm_.emplace(parameters, "encoder.layernorm_embedding", width, c.norm_type, c.biases != Biases::none,
                            c.layer_norm_epsilon);
  }
  if (width != c.dim) {
    embedding_projection_.emplace(parameters, "encoder.embeddings_project", width, c.dim,
                                  c.initial_weight(width, c.dim), c.has_biases());
  }
  LayerConfig layer = c;
  if (c.scaled_residual_init) layer.residual_gain = 1 / std::sqrt(2.0 * double(c.layers));
  for (int i = 0; i < c.layers; ++i) layers_.emplace_back(parameters, "encoder", i, layer);
  final_norm_ = make_final_norm(parameters, "encoder", c);
}

Var EncoderStack::embed(Tape& tape, const Tensor& ids, const Tensor& token_types, const Tensor& positions) const {
  Var x = embedding(tape.parameter(*table_), ids, scale_);
  if (type_table_) {
    const Tensor types = token_types ? token_types : Tensor::zeros(ids.shape(), DType::i32);
    require(types.size() == ids.size(), "[token types] expected ", ids.size(), ", got ", types.size());
    x = add(x, embedding(tape.parameter(*type_table_), types));
  } else {
    require(!token_types, "[token types] expected none: this model has no token types");
  }
  x = positions_->add_to_embeddings(x, positions);
  x = dropout(embedding_norm_ ? (*embedding_norm_)(x) : x, dropout_);
  return embedding_projection_ ? (*embedding_projection_)(x) : x;
}

Var EncoderStack::encode(Tape& tape, const Tensor& ids, const Segments& segments, const Tensor& token_types) const {
  require(ids.size() == segments.tokens(), "[encoder] expected ", segments.tokens(), " ids, got ", ids.size());
  const Tape::Scope scope(tape, causal_ ? "decoder" : "encoder");
  const RowPositions positions{segment_positions(segments),
                               positions_->rotation(tape, table_->value.dtype(), segments.longest()), positions_.get(),
                               segments.longest()};
  Var x = embed(tape, ids, token_types, positions.positions);
  for (const EncoderLayer& layer : layers_) x = layer(x, segments, positions, causal_);
  return final_norm_ ? (*final_norm_)(x) : x;
}

Var EncoderStack::advance(Tape& tape, const Tensor& ids, const Segments& chunk, TokenCache& cache) const {
  require(!tape.recording() && causal_, "[encoder] expected a causal model and a tape that does not record");
  require(ids.size() == chunk.tokens(), "[encoder] expected ", chunk.tokens(), " ids, got ", ids.size());
  require(cache.keys() == TokenCache::Keys::rotated || positions_->is_relative(),
          "[encoder] expected positions that are relative, or a cache of rotated keys");
  const Tape::Scope scope(tape, causal_ ? "decoder" : "encoder");
  cache.begin_chunk(chunk);
  const RowPositions positions{cache.positions(), positions_->rotation(tape, table_->value.dtype(), cache.longest()),
                               positions_.get(), cache.rows().longest()};
  Var x = embed(tape, ids, {}, positions.positions);
  for (const EncoderLayer& layer : layers_) x = layer.advance(x, positions, cache);
  return final_norm_ ? (*final_norm_)(x) : x;
}

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
