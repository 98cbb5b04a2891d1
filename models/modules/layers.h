// The layers of a transformer: linear layers, multi-head attention (Vaswani et al. 2017, 3.2.2) over packed segments,
// feed-forward networks, and the layers of encoders and decoders.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gyre/models/config/config.h"
#include "gyre/models/modules/cache.h"

namespace gyre {

// A linear layer, which registers its parameters, like the norm layer, as name.weight and name.bias:
// y(n, out) = x(n, in) w^T + bias, w(out, in). The bias, if there is one, is initialized to zero. With adapters of the
// weight (models/modules/lora.h), y is larger by scale (dropout(x) a^T) b^T in the columns of each.
class LinearLayer {
 public:
  LinearLayer(Parameters& parameters, const std::string& name, int64_t in, int64_t out, const Init& weight,
              bool has_bias = true);
  // Sets the rows of the matrices that the weight stacks (Parameter::matrix_rows), by default one matrix.
  void set_matrices(std::vector<int64_t> rows) { weight_->matrix_rows = std::move(rows); }

  Var operator()(const Var& x) const;
  // Columns first .. first + count - 1 of y: one of several fused projections.
  Var columns(const Var& x, int64_t first, int64_t count) const;
  // dropout(activation(y)), in one pass.
  Var activated(const Var& x, Activation kind, double dropout = 0) const;

 private:
  Var bias(Tape& tape) const { return bias_ ? tape.parameter(*bias_) : Var(); }
  Var adapted(const Var& x, int64_t first, int64_t count) const;

  Parameter *weight_, *bias_ = nullptr;
};

// Layer norm with or without a bias, or RMS norm, which has none.
class NormLayer {
 public:
  // The norm of rows of `dim` elements, or of groups of them (rms_norm).
  NormLayer(Parameters& parameters, const std::string& name, int64_t dim, NormType type, bool has_bias, double epsilon);
  // A norm of the residual stream.
  NormLayer(Parameters& parameters, const std::string& name, const LayerConfig& config);
  Var operator()(const Var& x) const;
  // The norm of residual + dropout(x), in one pass.
  Var after_residual(const Var& residual, const Var& x, double dropout) const;

 private:
  Var beta(Tape& tape) const { return beta_ ? tape.parameter(*beta_) : Var(); }

  Parameter *gamma_, *beta_ = nullptr;
  NormType type_;
  double epsilon_;
};

// Self-attention: queries, keys and values are projections of the same rows, fused into one matrix product. With
// grouped queries, there are fewer heads of keys and values (AttentionShape).
class SelfAttention {
 public:
  // Registers parent.name.{qkv,out}_proj, with qk_norm parent.name.{q,k}_norm, and with FAVOR+
  // parent.name.random_vectors. The output of qkv_proj is [queries | keys | values]. `layer` is the index of the layer
  // in its stack.
  SelfAttention(Parameters& parameters, const std::string& parent, const std::string& name, int layer,
                const LayerConfig& config);

  // x(n, dim) -> (n, dim). Rows attend to rows of their own segment; if causal, only to themselves and to earlier rows.
  Var operator()(const Var& x, const Segments& segments, const RowPositions& positions, bool causal) const;

  // One step of decoding: the next token of each hypothesis, x(rows, dim), attends to the hypothesis's tokens in the
  // cache and to itself. Adds its key and value to the cache. Records nothing.
  Var step(const Var& x, const RowPositions& positions, KeyValueCache& cache) const;

  // Continuing texts: each row of the current chunk of the cache, x(n, dim), attends to itself and to the rows before
  // it in its text and in the window. Stores its key and value in the cache. Records nothing.
  Var advance(const Var& x, const RowPositions& positions, TokenCache& cache) const;

 private:
  // Queries, keys and values of x in separate tensors, the first two normalized if the model does that.
  struct Projections {
    Var q, k, v;
  };
  Projections project(const Var& x) const;
  // The input of out_proj.
  Var attend(const Var& x, const Segments& segments, const RowPositions& positions, bool causal) const;
  // With a cache, the rows are the next ones of its texts.
  Var attend_linearly(const Var& x, const Segments& segments, const RowPositions& positions, bool causal,
                      TokenCache* cache = nullptr) const;

  std::string name_;
  int layer_;
  int64_t dim_, key_dim_;  // columns of the queries, and of the keys
  LinearLayer qkv_proj_, out_proj_;
  std::optional<NormLayer> q_norm_, k_norm_;
  AttentionOptions options_;
  AttentionConfig attention_;
  Parameter* random_vectors_ = nullptr;  // (features, head width), for FAVOR+: random, not trained
};

// Projected keys and values to which the queries of a cross-attention attend.
struct AttentionMemory {
  Var keys_values;  // (rows of the segments, 2 * dim)
  Segments segments;
  Tensor positions;  // positions of the rows; undefined if the keys are not rotated, or are rotated already
};

// Cross-attention: keys and values are projections of other rows than the queries.
class CrossAttention {
 public:
  // Registers parent.name.{q,kv,out}_proj. The output of kv_proj is [keys | values].
  CrossAttention(Parameters& parameters, const std::string& parent, const std::string& name, const LayerConfig& config);

  AttentionMemory project(const Var& x, const Segments& segments, const RowPositions& positions) const;
  // project() for decoding: rotates the keys once for all later queries. Records nothing.
  AttentionMemory project_rotated(const Var& x, const Segments& segments, const RowPositions& positions) const;

  // x(n, dim) -> (n, dim). The rows of segment i of `queries` attend to segment i of the memory.
  Var operator()(const Var& x, const Segments& queries, const RowPositions& positions,
                 const AttentionMemory& memory) const;

 private:
  // The input of out_proj.
  Var attend(const Var& x, const Segments& queries, const RowPositions& positions, const AttentionMemory& memory) const;

  std::string name_;
  LinearLayer q_proj_, kv_proj_, out_proj_;
  AttentionOptions options_;
};

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
