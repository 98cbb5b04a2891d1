// Language models with a single stack of layers: BERT (Devlin et al. 2019, 3.1), RoFormer (Su et al. 2021) and causal
// (decoder-only) models. The logits of the predicted rows are head(states) times the transposed embedding table, or a
// weight of their own, with
//   head(x) = norm(activation(dense(x))), or x
// Parameter names of the head are those of fairseq: lm_head.dense.weight.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gyre/models/config/config.h"
#include "gyre/models/modules/layers.h"

namespace gyre {

// The stack shared by all encoder-only models: embeddings of tokens (+ token types) (+ positions) -> [norm] -> layers
// [-> norm]. Parameter names are those of fairseq: embed_tokens.weight, encoder.layers.0.fc1.weight. They do not depend
// on the model's head, so a model can read the stack's weights from a model with another head.
class EncoderStack {
 public:
  // Registers its parameters, in the order of their first use.
  EncoderStack(Parameters& parameters, const EncoderOnlyConfig& config);

  // Output of the stack: (tokens, dim). ids and token_types: i32 (tokens); undefined token_types: all 0.
  Var encode(Tape& tape, const Tensor& ids, const Segments& segments, const Tensor& token_types = {}) const;

  // Output (n, dim) of a causal stack for the next tokens of texts, ids (n), whose segments are `chunk`, one for each
  // text of the cache. A row attends to itself and to the rows before it in its text, limited by the window of the
  // cache. Records nothing; throws if the tape records.
  Var advance(Tape& tape, const Tensor& ids, const Segments& chunk, TokenCache& cache) const;

  Parameter& table() const { return *table_; }  // token embeddings: (vocab, embedding width)

  const PositionEncoding& positions() const { return *positions_; }

 private:
  Var embed(Tape& tape, const Tensor& ids, const Tensor& token_types, const Tensor& positions) const;

  double scale_;  // factor on the token embeddings
  double dropout_;
  bool causal_;
  Parameter *table_, *type_table_ = nullptr;
  std::unique_ptr<PositionEncoding> positions_;
  std::optional<NormLayer> embedding_norm_;
  std::optional<LinearLayer> embedding_projection_;  // if embeddings have another width than the layers
  std::vector<EncoderLayer> layers_;
  std::optional<NormLayer> final_norm_;
};

// A packed batch. Ids, rows and types are i32.
struct MaskedInput {
  Tensor ids;  // (tokens), with the tokens to be predicted already masked
  Segments segments;
  Tensor masked_rows;       // (m): the predicted rows of the batch; undefined: all rows
  Tensor targets;           // (m): the original token of each masked row, or the next token in a causal model
  Tensor token_types = {};  // (tokens); undefined: all 0
};

class EncoderOnly {
 public:
  using Config = EncoderOnlyConfig;

  // Throws an Error if the config is invalid. The parameters have values after parameters().allocate().
  explicit EncoderOnly(const EncoderOnlyConfig& config);

  const EncoderOnlyConfig& config() const { return config_; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  // Output of the stack: (tokens, dim). token_types as in MaskedInput.
  Var encode(Tape& tape, const Tensor& ids, const Segments& segments, const Tensor& token_types = {}) const {
    return stack_.encode(tape, ids, segments, token_types);
  }

  // Output (n, dim) for the next tokens of texts (EncoderStack::advance). Throws if continuing_obstacle() gives a
  // reason.
  Var advance(Tape& tape, const Tensor& ids, const Segments& chunk, TokenCache& cache) const;
  // Reason why the model cannot continue texts token by token; empty if it can.
  std::string continuing_obstacle() const;

  // Logits (n, vocab) of states (n, dim).
  Var logits(const Var& states) const;

  // Cross-entropy, summed over the predicted rows. The head computes no other rows.
  LossResult loss(Tape& tape, const MaskedInput& batch, const CrossEntropyOptions& options = {}) const;
  // Cross-entropy of states (n, dim), all of whose rows are predicted; targets (n).
  LossResult loss(const Var& states, const Tensor& targets, const CrossEntropyOptions& options = {}) const;

  const PositionEncoding& positions() const { return stack_.positions(); }
  // The maximum length of a segment that the position encoding supports.
  int64_t longest() const { return positions().longest(); }

 private:
  Var head(const Var& states) const;
  Parameter& output_weight() const { return output_weight_ ? *output_weight_ : stack_.table(); }

  EncoderOnlyConfig config_;
  Parameters parameters_;
  EncoderStack stack_;
  std::optional<LinearLayer> head_dense_;
  std::optional<NormLayer> head_norm_;
  Parameter *output_weight_ = nullptr, *output_bias_ = nullptr;  // lm_head.weight, if not the table, and lm_head.bias
};

}  // namespace gyre
