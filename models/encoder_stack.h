// The stack shared by all encoder-only models: embeddings of tokens (+ token types) (+ positions) -> [norm] -> layers
// [-> norm]. Parameter names are those of fairseq: embed_tokens.weight, encoder.layers.0.fc1.weight. They do not depend
// on the model's head, so a model can read the stack's weights from a model with another head.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gyre/models/config/config.h"
#include "gyre/models/modules/layers.h"

namespace gyre {

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

}  // namespace gyre
