// Token-by-token decoding of a batch of sources by one or several models, each with its own key/value cache.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/models/decode/beam_search.h"

namespace gyre {

// A row is a hypothesis. Rows are grouped by source; at first there is one row per source.
class DecodingBatch {
 public:
  // Encodes the sources, ids that end with EOS. A source has at most `most_rows` rows. Of the options, the precision
  // and the packed weights are used. Throws for an empty source.
  DecodingBatch(const Ensemble& ensemble, Kernels& kernels, const std::vector<std::vector<int32_t>>& sources,
                int most_rows, const DecodeOptions& options);

  int rows() const { return members_.front().cache.rows(); }
  // Appends a token to each row: ids (rows), i32. by_source: the number of rows of each source; 0 once it is done.
  void step(const Tensor& ids, const Segments& by_source);
  // The k best next tokens of each row after a step. In a mean of probabilities, a probability below 1e-38 counts as
  // 1e-38.
  NextTokens best(int64_t k, int32_t eos);
  // log P of all next tokens after a step: (rows, vocab), f32, on the CPU. A mean of log-probabilities is not
  // normalized. Valid until the next step.
  Tensor log_probabilities();
  // Row i of the next step continues the row parents[i] of the last one.
  void gather(const std::vector<int>& parents);

  double flops() const { return tape_.flops(); }

 private:
  struct Member {
    const EncoderDecoder& model;
    std::vector<AttentionMemory> sources;
    KeyValueCache cache;
    Var states;  // states of the last step
  };

  bool averages_probabilities() const;
  Tensor mean();

  const Ensemble& ensemble_;
  int64_t most_rows_;
  std::shared_ptr<PackedWeights> packed_;
  Tape tape_;
  std::vector<Member> members_;
  // Buffers that all steps reuse, (rows, vocab) on the kernels' device, allocated by mean(). The last two exist for
  // several models only.
  Tensor log_probs_, term_, sum_;
};

}  // namespace gyre
