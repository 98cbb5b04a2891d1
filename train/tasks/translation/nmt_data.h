// The sentence pairs of a translation run: training batches and the validation set.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "gyre/data/batch/pair_batch.h"
#include "gyre/data/tokenizer/bpe_dropout.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/train/tasks/epoch_batches.h"
#include "gyre/train/tasks/translation/nmt_options.h"
#include "gyre/train/tasks/translation/nmt_validation.h"
#include "gyre/train/training_data.h"

namespace gyre {

// Batches of training pairs. Token counts include EOS. With BPE dropout, every epoch splits the sentences into other
// pieces, a pure function of (seed, epoch, sentence). The plan of batches uses the stored lengths, and a sentence that
// would exceed --max-length keeps its stored pieces.
class NmtData final : public TrainingData {
 public:
  // Opens a token store or reads text, and logs how many pairs were left out.
  NmtData(const NmtOptions& options, const Vocabulary& vocabulary, LossFunction<PairInput> loss, int micro_batches);

  std::string describe() const override;
  std::string item() const override { return "pair"; }
  uint64_t checksum() const override { return store_.checksum(); }
  void start_epoch(uint64_t epoch, uint64_t) override { batches_.start(epoch); }
  size_t batches() const override { return batches_.plan().size(); }
  RankBatch batch(size_t i, MicroBatchRange own) const override;

 private:
  std::vector<int32_t> sentence(uint32_t index, int side) const;
  PairBatch pairs(std::span<const uint32_t> indices) const;

  std::unique_ptr<BpeDropout> dropout_;  // null: none
  TokenStore store_;
  EpochBatches batches_;
  LossFunction<PairInput> loss_;
  double drop_probability_;
  std::array<bool, 2> drops_side_;
  uint64_t seed_;
  int max_length_;
};

// The splitter of --bpe-dropout; null if the probability is 0. Throws UsageError for a vocabulary without merges.
std::unique_ptr<BpeDropout> make_bpe_dropout(const NmtOptions& options, const Vocabulary& vocabulary);

// Reads the validation pairs of `options`. Skips pairs with more than `longest` ids, including EOS, on either side.
NmtValidationSet read_validation_set(const NmtOptions& options, const Vocabulary& vocabulary, int64_t longest);

}  // namespace gyre
