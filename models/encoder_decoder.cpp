#include "gyre/models/encoder_decoder.h"

#include <algorithm>
#include <cmath>

#include "gyre/models/position/rope.h"

namespace gyre {
namespace {

Init table_init(const EncoderDecoderConfig& c) { return Init::normal(1 / std::sqrt(double(c.dim))); }

Parameter& add_table(Parameters& parameters, const std::string& name, int64_t pieces, const EncoderDecoderConfig& c) {
  return parameters.add_table(name, {pieces, c.dim}, table_init(c));
}

Tensor repeated(const Tensor& ids) {
  std::vector<int32_t> twice = ids.to_vector<int32_t>();
  const std::vector<int32_t> once = twice;
  twice.insert(twice.end(), once.begin(), once.end());
  return Tensor::from<int32_t>({int64_t(twice.size())}, twice);
}

Segments repeated(const Segments& segments) {
  std::vector<int32_t> lengths;
  for (int i = 0; i < 2 * segments.count(); ++i) lengths.push_back(segments.length(i % segments.count()));
  return Segments::from_lengths(lengths);
}

// The parameters have the dtype of the rotation.
Rope rotation(Tape& tape, const PositionEncoding& encoding, int64_t positions, const Parameters& parameters) {
  const auto lock = encoding.lock();
  return encoding.rotation(tape, parameters.values().dtype(), positions);
}

}  // namespace

// Parameters are registered in the order of their first use, so their gradients become final from last to first.
EncoderDecoder::EncoderDecoder(const EncoderDecoderConfig& config) : config_(config) {
  config_.validate();
  if (config_.tied_embeddings)
    source_table_ = target_table_ = &add_table(parameters_, "embed_tokens.weight", config_.vocab_size, config_);
  build_encoder();
  build_decoder();
  output_table_ = config_.tied_output ? target_table_
                                      : &parameters_.add("decoder.output_projection.weight",
                                                         {config_.output_size(), config_.dim}, table_init(config_));
  if (config_.output_bias) {
    output_bias_ = &parameters_.add("decoder.output_projection.bias", {config_.output_size()}, Init::constant(0),
                                    /*decay=*/false);
  }
}

void EncoderDecoder::build_encoder() {
  if (!source_table_)
    source_table_ = &add_table(parameters_, "encoder.embed_tokens.weight", config_.vocab_size, config_);
  encoder_positions_ =
      make_position_encoding({config_.position, config_.dim, config_.heads, parameters_, "encoder.embed_positions",
                              /*initial_deviation=*/0, config_.encoder_layers});
  for (int i = 0; i < config_.encoder_layers; ++i) encoder_.emplace_back(parameters_, "encoder", i, config_);
  encoder_norm_ = make_final_norm(parameters_, "encoder", config_);
}

void EncoderDecoder::build_decoder() {
  if (!target_table_)
    target_table_ = &add_table(parameters_, "decoder.embed_tokens.weight", config_.output_size(), config_);
  decoder_positions_ =
      make_position_encoding({config_.position, config_.dim, config_.heads, parameters_, "decoder.embed_positions",
                              /*initial_deviation=*/0, config_.decoder_layers});
  for (int i = 0; i < config_.decoder_layers; ++i) decoder_.emplace_back(parameters_, "decoder", i, config_);
  decoder_norm_ = make_final_norm(parameters_, "decoder", config_);
}

int64_t EncoderDecoder::longest() const {
  return std::min(encoder_positions_->longest(), decoder_positions_->longest());
}

Var EncoderDecoder::embed(Tape& tape, Parameter& table, const PositionEncoding& encoding, const Tensor& positions,
                          const Tensor& ids) const {
  const Tape::Scope scope(tape, "embed");
  const Var x = embedding(tape.parameter(table), ids, config_.scale_embedding ? std::sqrt(double(config_.dim)) : 1.0);
  const auto lock = encoding.lock();
  return dropout(encoding.add_to_embeddings(x, positions), config_.dropout);
}

Var EncoderDecoder::encode(Tape& tape, const Tensor& source_ids, const Segments& source) const {
  require(source_ids.size() == source.tokens(), "[encoder] expected ", source.tokens(), " source ids, got ",
          source_ids.size());
  const Tape::Scope scope(tape, "encoder");
  const RowPositions positions{segment_positions(source),
                               rotation(tape, *encoder_positions_, source.longest(), parameters_),
                               encoder_positions_.get(), source.longest()};
  Var x = embed(tape, *source_table_, *encoder_positions_, positions.positions, source_ids);
  for (const EncoderLayer& layer : encoder_) x = layer(x, source, positions);
  return encoder_norm_ ? (*encoder_norm_)(x) : x;
}

// The decoder's encoding rotates both queries and keys of the cross-attention, if rope_rotate_cross is set; otherwise
// neither is rotated.
RowPositions EncoderDecoder::cross_positions(const RowPositions& positions) const {
  return config_.position.get<RopeOptions>().rotate_cross ? positions : RowPositions{};
}

std::vector<AttentionMemory> EncoderDecoder::project_sources(const Var& encoded, const Segments& source) const {
  Tape& tape = encoded.tape();
  const Tape::Scope scope(tape, "decoder");
  const RowPositions positions =
      cross_positions({segment_positions(source), rotation(tape, *decoder_positions_, source.longest(), parameters_)});
  std::vector<AttentionMemory> memories;
  for (const DecoderLayer& layer : decoder_) memories.push_back(layer.project_source(encoded, source, positions));
  return memories;
}

Var EncoderDecoder::decode(Tape& tape, const Var& encoded, const Segments& source, const Tensor& target_inputs,
                           const Segments& target) const {
  require(source.count() == target.count(), "[decoder] expected as many targets as sources, ", source.count(), ", got ",
          target.count());
  require(target_inputs.size() == target.tokens(), "[decoder] expected ", target.tokens(), " target ids, got ",
          target_inputs.size());
  const Tape::Scope scope(tape, "decoder");
  const int64_t longest = std::max(source.longest(), target.longest());
  const RowPositions positions{segment_positions(target), rotation(tape, *decoder_positions_, longest, parameters_),
                               decoder_positions_.get(), target.longest()};
  const RowPositions source_positions = cross_positions({segment_positions(source), positions.rotation});
  const DecoderRows rows{target, target, positions, cross_positions(positions)};
  Var x = embed(tape, *target_table_, *decoder_positions_, positions.positions, target_inputs);
  for (const DecoderLayer& layer : decoder_) x = layer(x, rows, encoded, source, source_positions);
  return decoder_norm_ ? (*decoder_norm_)(x) : x;
}

Var EncoderDecoder::decode_step(Tape& tape, const Tensor& ids, const Segments& by_sentence,
                                const std::vector<AttentionMemory>& sources, KeyValueCache& cache) const {
  const auto count = size_t(by_sentence.tokens());
  require(ids.size() == by_sentence.tokens() && cache.rows() == by_sentence.tokens(), "[decoder] expected ",
          by_sentence.tokens(), " rows, got ", ids.size(), " ids and a cache of ", cache.rows(), " rows");
  const Tape::Scope scope(tape, "decoder");
  const Segments single = Segments::from_lengths(std::vector<int32_t>(count, 1));
  const RowPositions positions{segment_positions(single, cache.length()),
                               rotation(tape, *decoder_positions_, cache.length() + 1, parameters_),
                               decoder_positions_.get(), cache.length() + 1};
  const DecoderRows rows{single, by_sentence, positions, cross_positions(positions)};
  cache.begin_step();
  Var x = embed(tape, *target_table_, *decoder_positions_, positions.positions, ids);
  for (size_t i = 0; i < decoder_.size(); ++i) x = decoder_[i].step(x, rows, sources[i], cache);
  return decoder_norm_ ? (*decoder_norm_)(x) : x;
}

Var EncoderDecoder::logits(const Var& states) const {
  const Tape::Scope scope(states.tape(), "output");
  return linear(states, states.tape().parameter(*output_table_), output_bias(states.tape()));
}

void EncoderDecoder::log_probabilities(const Tensor& log_probs, const Var& states) const {
  states.tape().count_flops(2.0 * double(log_probs.size()) * double(config_.dim));
  states.tape().multiply(log_probs, states.value(), output_table_->value,
                         output_bias_ ? output_bias_->value : Tensor());
  states.kernels().log_softmax(log_probs, log_probs);
}

void EncoderDecoder::best_tokens(const Tensor& log_probs, const Tensor& ids, const Var& states, int64_t also) const {
  // The kernel that needs no logits in memory adds no bias.
  const PackedWeight* packed = states.tape().packed_weight(output_table_->value, states.value().dtype());
  if (packed != nullptr && output_bias_ == nullptr) {
    states.tape().count_flops(2.0 * double(states.value().size()) * double(config_.output_size()));
    return states.kernels().packed_best_tokens(log_probs, ids, states.value(), *packed, also);
  }
  const Tensor all = Tensor::empty({states.shape()[0], config_.output_size()}, DType::f32, states.value().device());
  log_probabilities(all, states);
  states.kernels().topk(log_probs, ids, all, also);
}

LossResult EncoderDecoder::loss(Tape& tape, const PairInput& batch, double label_smoothing) const {
  const Var encoded = encode(tape, batch.source_ids, batch.source);
  const Var states = decode(tape, encoded, batch.source, batch.target_inputs, batch.target);
  const Tape::Scope scope(tape, "output");
  return linear_cross_entropy(states, tape.parameter(*output_table_), output_bias(tape), batch.target_outputs,
                              {.smoothing = label_smoothing});
}

LossResult EncoderDecoder::r_drop_loss(Tape& tape, const PairInput& batch, double label_smoothing, double alpha) const {
  const Segments source = repeated(batch.source), target = repeated(batch.target);
  const Var encoded = encode(tape, repeated(batch.source_ids), source);
  const Var states = decode(tape, encoded, source, repeated(batch.target_inputs), target);
  const Tape::Scope scope(tape, "output");
  return linear_r_drop(states, tape.parameter(*output_table_), output_bias(tape), batch.target_outputs, label_smoothing,
                       alpha);
}

}  // namespace gyre
