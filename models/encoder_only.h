// The encoder-only transformer for masked language modelling (Devlin et al. 2019, 3.1): tokens -> encoder layers -> the
// states of the masked rows -> head -> the table of embeddings, transposed.
//   head(x) = norm(gelu(dense(x)))
// Parameter names are fairseq's: embed_tokens.weight, encoder.layers.0.fc1.weight, lm_head.dense.weight.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/config.h"
#include "models/modules/layers.h"

namespace gyre {

// A packed batch. Ids and rows are i32.
struct MaskedInput {
  Tensor ids;  // (tokens), those to be predicted already masked
  Segments segments;
  Tensor masked_rows;  // (m): the rows of the batch that are predicted
  Tensor targets;      // (m): what stood there
};

class EncoderOnly {
 public:
  explicit EncoderOnly(const EncoderOnlyConfig& config);  // validates; values exist after parameters().allocate()

  const EncoderOnlyConfig& config() const { return config_; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  // States of the top: (tokens, dim).
  Var encode(Tape& tape, const Tensor& ids, const Segments& segments) const;

  // (n, vocab) from states (n, dim).
  Var logits(const Var& states) const;

  // Cross-entropy, summed over the masked rows: no other row goes through the head.
  LossResult loss(Tape& tape, const MaskedInput& batch) const;

  // The longest segment that has positions.
  int64_t longest() const { return positions_->longest(); }

 private:
  Var head(const Var& states) const;

  EncoderOnlyConfig config_;
  Parameters parameters_;
  Parameter* table_;
  std::unique_ptr<PositionEncoding> positions_;
  std::vector<EncoderLayer> layers_;
  std::optional<LayerNormLayer> final_norm_;
  LinearLayer head_dense_;
  LayerNormLayer head_norm_;
  Parameter* output_bias_ = nullptr;
};

}  // namespace gyre
