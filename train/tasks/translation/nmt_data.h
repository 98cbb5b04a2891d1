// The sentence pairs of a translation run: training batches and the validation set.
#pragma once

#include <cstdint>
#include <memory>

#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/train/tasks/epoch_batches.h"
#include "gyre/train/tasks/translation/nmt_options.h"
#include "gyre/train/tasks/translation/nmt_validation.h"
#include "gyre/train/training_data.h"

namespace gyre {

// Batches of training pairs. Token counts include EOS.
class NmtData final : public TrainingData {
 public:
  // Opens a token store or reads text, and logs how many pairs were left out.
  NmtData(const NmtOptions& options, const Vocabulary& vocabulary, LossFunction<PairInput> loss, int micro_batches);

  std::string describe() const override;
  std::string item() const override { return "pair"; }
  uint64_t checksum() const override { return store_.checksum(); }
  void start_epoch(uint64_t epoch) override { batches_.start(epoch); }
  size_t batches() const override { return batches_.plan().size(); }
  RankBatch batch(size_t i, MicroBatchRange own) const override;

 private:
  TokenStore store_;
  EpochBatches batches_;
  LossFunction<PairInput> loss_;
};

// Reads the validation pairs of `options`. Skips pairs with more than `longest` ids, including EOS, on either side.
ValidationSet read_validation_set(const NmtOptions& options, const Vocabulary& vocabulary, int64_t longest);

}  // namespace gyre
