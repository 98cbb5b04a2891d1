// The encoder's and the decoder's layer: residual branches around attention and feed-forward blocks.
#pragma once

#include <optional>
#include <string>

#include "models/modules/attention.h"

namespace gyre {

// post: norm(x + dropout(f(x))); pre: x + dropout(f(norm(x))).
class ResidualBranch {
 public:
  ResidualBranch(Parameters& parameters, const std::string& norm_name, const LayerConfig& config);

  template <class F>
  Var operator()(const Var& x, const F& f) const {
    if (placement_ == NormPlacement::pre) return residual_dropout(x, f(norm_(x)), dropout_);
    return norm_.after_residual(x, f(x), dropout_);
  }

 private:
  LayerNormLayer norm_;
  NormPlacement placement_;
  double dropout_;
};

// fc2(dropout(activation(fc1(x))))
class FeedForward {
 public:
  FeedForward(Parameters& parameters, const std::string& parent, const LayerConfig& config);
  Var operator()(const Var& x) const;

 private:
  LinearLayer fc1_, fc2_;
  Activation activation_;
  double dropout_;
};

class EncoderLayer {
 public:
  EncoderLayer(Parameters& parameters, const std::string& stack, int index, const LayerConfig& config);
  // Causal: a row sees itself and those before it.
  Var operator()(const Var& x, const Segments& source, const RowPositions& positions, bool causal = false) const;
  // Reading in chunks (SelfAttention::stream).
  Var stream(const Var& x, const RowPositions& positions, KeyValueWindow& window) const;

 private:
  std::string name_;
  SelfAttention self_attention_;
  ResidualBranch self_branch_;
  FeedForward feed_forward_;
  ResidualBranch feed_forward_branch_;
};

// The norm on top of a pre-norm stack, where the config has it: stack.layer_norm.
std::optional<LayerNormLayer> make_final_norm(Parameters& parameters, const std::string& stack,
                                              const ModelConfig& config);

// What the layers of a decoder share for one batch.
struct DecoderRows {
  Segments segments;             // rows that attend to one another
  Segments by_sentence;          // rows by the source that they attend to
  RowPositions positions;        // for the self-attention
  RowPositions cross_positions;  // of the queries of the cross-attention
};

class DecoderLayer {
 public:
  DecoderLayer(Parameters& parameters, const std::string& stack, int index, const LayerConfig& config);

  // Keys and values of the cross-attention. `decoding`: their keys are turned already, and nothing is recorded.
  AttentionMemory project_source(const Var& encoded, const Segments& source, const RowPositions& positions,
                                 bool decoding) const;

  // With a cache each row is the next token of a hypothesis, and sees those that the cache holds of it.
  Var operator()(const Var& x, const DecoderRows& rows, const AttentionMemory& source, KeyValueCache* cache) const;

 private:
  std::string name_;
  SelfAttention self_attention_;
  ResidualBranch self_branch_;
  CrossAttention cross_attention_;
  ResidualBranch cross_branch_;
  FeedForward feed_forward_;
  ResidualBranch feed_forward_branch_;
};

}  // namespace gyre
