// The encoder layer and the decoder layer: residual branches around attention and feed-forward blocks.
#pragma once

#include <optional>
#include <string>

#include "gyre/models/modules/attention.h"

namespace gyre {

// A residual branch with a norm. post: norm(x + dropout(f(x))); pre: x + dropout(f(norm(x))).
class ResidualBranch {
 public:
  ResidualBranch(Parameters& parameters, const std::string& norm_name, const LayerConfig& config);

  template <class F>
  Var operator()(const Var& x, const F& f) const {
    if (placement_ == NormPlacement::pre) return residual_dropout(x, f(norm_(x)), dropout_);
    return norm_.after_residual(x, f(x), dropout_);
  }
  // The parts of a pre-norm branch, for branches in parallel.
  Var norm(const Var& x) const { return norm_(x); }
  Var add(const Var& x, const Var& branch) const { return residual_dropout(x, branch, dropout_); }

 private:
  NormLayer norm_;
  NormPlacement placement_;
  double dropout_;
};

// The feed-forward block: fc2(dropout(activation(fc1(x)))); gated: fc2(dropout(activation(gate(x)) * up(x))), where the
// output of fc1 is [gate | up].
class FeedForward {
 public:
  FeedForward(Parameters& parameters, const std::string& parent, const LayerConfig& config);
  Var operator()(const Var& x) const;

 private:
  bool gated_;
  LinearLayer fc1_, fc2_;
  Activation activation_;
  double dropout_;
};

class EncoderLayer {
 public:
  EncoderLayer(Parameters& parameters, const std::string& stack, int index, const LayerConfig& config);
  // x(n, dim) -> (n, dim). If causal, rows attend only to themselves and to earlier rows.
  Var operator()(const Var& x, const Segments& source, const RowPositions& positions, bool causal = false) const;
  // Reads the next tokens of texts (SelfAttention::advance).
  Var advance(const Var& x, const RowPositions& positions, TokenCache& cache) const;

 private:
  template <class Attend>
  Var run(const Var& x, const Attend& attend) const;

  std::string name_;
  SelfAttention self_attention_;
  ResidualBranch self_branch_;
  FeedForward feed_forward_;
  bool parallel_;
  std::optional<ResidualBranch> feed_forward_branch_;  // none with a shared norm
};

// The final norm of a pre-norm stack, stack.layer_norm; none if the config has no final norm.
std::optional<NormLayer> make_final_norm(Parameters& parameters, const std::string& stack, const ModelConfig& config);

// Rows of a batch and their positions, shared by all layers of a decoder.
struct DecoderRows {
  Segments segments;             // rows that attend to each other
  Segments by_sentence;          // rows that attend to the same source
  RowPositions positions;        // positions for the self-attention
  RowPositions cross_positions;  // positions of the queries of the cross-attention
};

class DecoderLayer {
 public:
  DecoderLayer(Parameters& parameters, const std::string& stack, int index, const LayerConfig& config);

  // x(n, dim) -> (n, dim), with teacher forcing. The cross-attention attends to the output of the encoder, whose rows
  // have source_positions.
  Var operator()(const Var& x, const DecoderRows& rows, const Var& encoded, const Segments& source,
                 const RowPositions& source_positions) const;

  // Keys and values of the cross-attention for step(). Rotates the keys once and records nothing.
  AttentionMemory project_source(const Var& encoded, const Segments& source, const RowPositions& positions) const;
  // One step of decoding: each row of x(n, dim) is the next token of a hypothesis and attends to the hypothesis's
  // tokens in the cache. Records nothing.
  Var step(const Var& x, const DecoderRows& rows, const AttentionMemory& source, KeyValueCache& cache) const;

 private:
  template <class Attend>
  Var run(const Var& x, const DecoderRows& rows, const AttentionMemory& source, const Attend& attend) const;

  std::string name_;
  SelfAttention self_attention_;
  ResidualBranch self_branch_;
  CrossAttention cross_attention_;
  ResidualBranch cross_branch_;
  FeedForward feed_forward_;
  ResidualBranch feed_forward_branch_;
};

}  // namespace gyre
