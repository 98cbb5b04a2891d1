#include "gyre/models/modules/layers.h"

namespace gyre {

ResidualBranch::ResidualBranch(Parameters& parameters, const std::string& norm_name, const LayerConfig& c)
    : norm_(parameters, norm_name, c), placement_(c.norm), dropout_(c.dropout) {}

FeedForward::FeedForward(Parameters& parameters, const std::string& parent, const LayerConfig& c)
    : gated_(c.gated_ffn),
      fc1_(parameters, parent + ".fc1", c.dim, gated_ ? 2 * c.ffn : c.ffn, c.initial_weight(c.dim, c.ffn),
           c.has_biases()),
      fc2_(parameters, parent + ".fc2", c.ffn, c.dim, c.initial_residual_weight(c.ffn, c.dim), c.has_biases()),
      activation_(c.activation),
      dropout_(c.activation_dropout) {
  if (gated_) fc1_.set_matrices({c.ffn, c.ffn});
}

Var FeedForward::operator()(const Var& x) const {
  const Tape::Scope scope(x.tape(), "ffn");
  if (gated_) return fc2_(dropout(gated_activation(fc1_(x), activation_), dropout_));
  return fc2_(fc1_.activated(x, activation_, dropout_));
}

static std::string layer_name(int index) { return "layers." + std::to_string(index); }

EncoderLayer::EncoderLayer(Parameters& parameters, const std::string& stack, int index, const LayerConfig& c)
    : name_(layer_name(index)),
      self_attention_(parameters, stack + "." + name_, "self_attn", index, c),
      self_branch_(parameters, stack + "." + name_ + ".self_attn_layer_norm", c),
      feed_forward_(parameters, stack + "." + name_, c),
      parallel_(c.residual_form != ResidualForm::sequential) {
  if (c.residual_form != ResidualForm::shared_norm)
    feed_forward_branch_.emplace(parameters, stack + "." + name_ + ".final_layer_norm", c);
}

// attend(h): the self-attention of h.
template <class Attend>
Var EncoderLayer::run(const Var& x, const Attend& attend) const {
  if (!parallel_) return (*feed_forward_branch_)(self_branch_(x, attend), feed_forward_);
  const Var normalized = self_branch_.norm(x);
  const Var attended = self_branch_.add(x, attend(normalized));
  return self_branch_.add(attended, feed_forward_(feed_forward_branch_ ? feed_forward_branch_->norm(x) : normalized));
}

Var EncoderLayer::operator()(const Var& x, const Segments& source, const RowPositions& positions, bool causal) const {
  const Tape::Scope scope(x.tape(), name_);
  return x.tape().checkpoint(Recompute::block, [=, this] {
    return run(x, [&](const Var& h) { return self_attention_(h, source, positions, causal); });
  });
}

Var EncoderLayer::advance(const Var& x, const RowPositions& positions, TokenCache& cache) const {
  const Tape::Scope scope(x.tape(), name_);
  return run(x, [&](const Var& h) { return self_attention_.advance(h, positions, cache); });
}

std::optional<NormLayer> make_final_norm(Parameters& parameters, const std::string& stack, const ModelConfig& c) {
  if (c.norm != NormPlacement::pre || !c.final_norm) return {};
  return NormLayer(parameters, stack + ".layer_norm", c);
}

DecoderLayer::DecoderLayer(Parameters& parameters, const std::string& stack, int index, const LayerConfig& c)
    : name_(layer_name(index)),
      self_attention_(parameters, stack + "." + name_, "self_attn", index, c),
      self_branch_(parameters, stack + "." + name_ + ".self_attn_layer_norm", c),
      cross_attention_(parameters, stack + "." + name_, "encoder_attn", c),
      cross_branch_(parameters, stack + "." + name_ + ".encoder_attn_layer_norm", c),
      feed_forward_(parameters, stack + "." + name_, c),
      feed_forward_branch_(parameters, stack + "." + name_ + ".final_layer_norm", c) {}

// attend(h): the self-attention of h.
template <class Attend>
Var DecoderLayer::run(const Var& x, const DecoderRows& rows, const AttentionMemory& source,
                      const Attend& attend) const {
  const Var attended = cross_branch_(self_branch_(x, attend), [&](const Var& h) {
    return cross_attention_(h, rows.by_sentence, rows.cross_positions, source);
  });
  return feed_forward_branch_(attended, feed_forward_);
}

Var DecoderLayer::operator()(const Var& x, const DecoderRows& rows, const Var& encoded, const Segments& source,
                             const RowPositions& source_positions) const {
  const Tape::Scope scope(x.tape(), name_);
  return x.tape().checkpoint(Recompute::block, [=, this] {
    return run(x, rows, cross_attention_.project(encoded, source, source_positions),
               [&](const Var& h) { return self_attention_(h, rows.segments, rows.positions, /*causal=*/true); });
  });
}

AttentionMemory DecoderLayer::project_source(const Var& encoded, const Segments& source,
                                             const RowPositions& positions) const {
  const Tape::Scope scope(encoded.tape(), name_);
  return cross_attention_.project_rotated(encoded, source, positions);
}

Var DecoderLayer::step(const Var& x, const DecoderRows& rows, const AttentionMemory& source,
                       KeyValueCache& cache) const {
  const Tape::Scope scope(x.tape(), name_);
  return run(x, rows, source, [&](const Var& h) { return self_attention_.step(h, rows.positions, cache); });
}

}  // namespace gyre
