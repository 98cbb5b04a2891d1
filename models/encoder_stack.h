// The stack that every encoder-only model stands on: tokens (+ token types) (+ positions) -> [norm] -> layers [->
// norm]. Parameter names are fairseq's: embed_tokens.weight, encoder.layers.0.fc1.weight. A head adds its own beside
// them, so weights of one model are read by name into another.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/config.h"
#include "models/modules/layers.h"

namespace gyre {

class EncoderStack {
 public:
  // Registers its parameters, in the order of their first use.
  EncoderStack(Parameters& parameters, const EncoderOnlyConfig& config);

  // States of the top: (tokens, dim). ids and token_types: i32 (tokens); no token types: all 0.
  Var encode(Tape& tape, const Tensor& ids, const Segments& segments, const Tensor& token_types = {}) const;

  // The same of a causal text that is read in chunks: ids (n) follow those that the window has seen, and each row sees
  // as many before it as the window reaches. For positions that are relative. Records nothing.
  Var stream(Tape& tape, const Tensor& ids, KeyValueWindow& window) const;

  Parameter& table() const { return *table_; }  // of the embeddings of tokens: (vocab, dim)

  const PositionEncoding& positions() const { return *positions_; }

 private:
  // Of rows that see fewer than `furthest` before them.
  RowPositions positions_of(Tape& tape, const Segments& segments, int64_t furthest) const;
  Var embed(Tape& tape, const Tensor& ids, const Tensor& token_types, const Tensor& positions) const;

  double scale_;  // of the embeddings of tokens
  double dropout_;
  bool causal_;
  Parameter *table_, *type_table_ = nullptr;
  std::unique_ptr<PositionEncoding> positions_;
  std::optional<LayerNormLayer> embedding_norm_;
  std::vector<EncoderLayer> layers_;
  std::optional<LayerNormLayer> final_norm_;
};

}  // namespace gyre
