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

  // States of the next rows (n, dim) of a text that is read in chunks, ids (n): each row sees as many rows before it
  // as the window reaches. Throws where not_streamed() says why that has no meaning.
  Var stream(Tape& tape, const Tensor& ids, KeyValueWindow& window) const;
  std::string not_streamed() const;  // empty: texts can be read in chunks

  // (n, vocab) from states (n, dim).
  Var logits(const Var& states) const;

  // Cross-entropy, summed over the predicted rows: no other row goes through the head.
  LossResult loss(Tape& tape, const MaskedInput& batch) const;
  // The same of states (n, dim) whose rows are all predicted.
  LossResult loss(const Var& states, const Tensor& targets) const;

  const PositionEncoding& positions() const { return stack_.positions(); }
  // The longest segment that has positions.
  int64_t longest() const { return positions().longest(); }

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
