// One stack of layers over one text: BERT and RoFormer (Devlin et al. 2019, 3.1; Su et al. 2021), and causal language
// models. The stack -> the states of the predicted rows -> head -> the table of embeddings, transposed.
//   head(x) = norm(activation(dense(x))), or x
// Parameter names of the head are fairseq's: lm_head.dense.weight.
#pragma once

#include <optional>

#include "models/encoder_stack.h"

namespace gyre {

// A packed batch. Ids, rows and types are i32.
struct MaskedInput {
  Tensor ids;  // (tokens), those to be predicted already masked
  Segments segments;
  Tensor masked_rows;       // (m): the rows of the batch that are predicted; undefined: all of them
  Tensor targets;           // (m): what stood there, or comes next
  Tensor token_types = {};  // (tokens); undefined: all 0
};

class EncoderOnly {
 public:
  using Config = EncoderOnlyConfig;

  explicit EncoderOnly(const EncoderOnlyConfig& config);  // validates; values exist after parameters().allocate()

  const EncoderOnlyConfig& config() const { return config_; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  // States of the top: (tokens, dim). token_types as in MaskedInput.
  Var encode(Tape& tape, const Tensor& ids, const Segments& segments, const Tensor& token_types = {}) const {
    return stack_.encode(tape, ids, segments, token_types);
  }

  // (n, vocab) from states (n, dim).
  Var logits(const Var& states) const;

  // Cross-entropy, summed over the predicted rows: no other row goes through the head.
  LossResult loss(Tape& tape, const MaskedInput& batch) const;

  // The longest segment that has positions.
  int64_t longest() const { return stack_.longest(); }

 private:
  Var head(const Var& states) const;

  EncoderOnlyConfig config_;
  Parameters parameters_;
  EncoderStack stack_;
  std::optional<LinearLayer> head_dense_;
  std::optional<LayerNormLayer> head_norm_;
  Parameter* output_bias_ = nullptr;
};

}  // namespace gyre
