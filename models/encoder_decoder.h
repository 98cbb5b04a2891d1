// The encoder-decoder transformer (Vaswani et al. 2017) on packed batches.
// Initialization is that of fairseq. Parameter names are also those of fairseq, except for fused projections:
// encoder.layers.0.self_attn.qkv_proj.weight is (3 * dim, dim), the rows of queries, keys and values, and
// decoder.layers.0.encoder_attn.kv_proj.weight is (2 * dim, dim). The name of a shared table has no prefix "encoder" or
// "decoder": embed_tokens.weight.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gyre/models/config/config.h"
#include "gyre/models/modules/layers.h"

namespace gyre {

// A packed batch of sentence pairs; segment i of both sides is pair i. Ids are i32.
struct PairInput {
  Tensor source_ids;  // (source tokens), each sentence ends with EOS
  Segments source;
  Tensor target_inputs, target_outputs;  // (target tokens): BOS y1 .. yn, and y1 .. yn EOS
  Segments target;
};

class EncoderDecoder {
 public:
  using Config = EncoderDecoderConfig;

  // Throws an Error if the config is invalid. The parameters have values after parameters().allocate().
  explicit EncoderDecoder(const EncoderDecoderConfig& config);

  const EncoderDecoderConfig& config() const { return config_; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  // Label-smoothed cross-entropy, summed over the target tokens.
  LossResult loss(Tape& tape, const PairInput& batch, double label_smoothing) const;
  // The loss of R-Drop (linear_r_drop in autograd/ops.h) with the batch in two passes, which differ in their dropout
  // masks and are computed as one batch of twice the size. Each target token counts as one prediction.
  LossResult r_drop_loss(Tape& tape, const PairInput& batch, double label_smoothing, double alpha) const;

  // Output of the encoder: (source tokens, dim).
  Var encode(Tape& tape, const Tensor& source_ids, const Segments& source) const;

  // Output of the decoder with teacher forcing: (target tokens, dim).
  Var decode(Tape& tape, const Var& encoded, const Segments& source, const Tensor& target_inputs,
             const Segments& target) const;

  // Logits (n, vocab) of decoder states (n, dim).
  Var logits(const Var& states) const;

  // Token-by-token decoding. project_sources() computes the keys and values of every cross-attention, once per source.
  std::vector<AttentionMemory> project_sources(const Var& encoded, const Segments& source) const;
  // decode_step() runs one step: ids (rows), the last token of each hypothesis, grouped by sentence -> states
  // (rows, dim). The rows of segment i of `by_sentence` attend to segment i of the sources. The cache grows by one
  // token per row.
  Var decode_step(Tape& tape, const Tensor& ids, const Segments& by_sentence,
                  const std::vector<AttentionMemory>& sources, KeyValueCache& cache) const;

  // Computes log P of the next tokens, log_probs(rows, vocab), from decoder states (rows, dim). Records nothing.
  void log_probabilities(const Tensor& log_probs, const Var& states) const;

  // Computes the best next tokens, as Kernels::topk() of log_probabilities() does: ids (rows, k), their log P and that
  // of token `also`, log_probs (rows, k + 1), on the CPU. Records nothing.
  void best_tokens(const Tensor& log_probs, const Tensor& ids, const Var& states, int64_t also) const;

  // The maximum length of a source or target that the position encoding supports.
  int64_t longest() const;

 private:
  void build_encoder();
  void build_decoder();
  Var embed(Tape& tape, Parameter& table, const PositionEncoding& encoding, const Tensor& positions,
            const Tensor& ids) const;
  Var output_bias(Tape& tape) const { return output_bias_ ? tape.parameter(*output_bias_) : Var(); }
  RowPositions cross_positions(const RowPositions& positions) const;

  EncoderDecoderConfig config_;
  Parameters parameters_;
  Parameter *source_table_ = nullptr, *target_table_ = nullptr, *output_table_ = nullptr;
  Parameter* output_bias_ = nullptr;  // may be null
  std::unique_ptr<PositionEncoding> encoder_positions_, decoder_positions_;
  std::vector<EncoderLayer> encoder_;
  std::vector<DecoderLayer> decoder_;
  std::optional<NormLayer> encoder_norm_, decoder_norm_;
};

}  // namespace gyre
