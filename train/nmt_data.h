// The sentence pairs of a translation run: what to train on, in batches, and what to validate on.
#pragma once

#include <cstdint>
#include <memory>

#include "data/vocabulary.h"
#include "train/epoch_batches.h"
#include "train/nmt_options.h"
#include "train/nmt_validation.h"
#include "train/training_data.h"

namespace gyre {

// Training pairs, as PairInputs. Tokens count EOS.
class NmtData final : public TrainingData {
 public:
  // Opens a token store, or reads text; logs what was left out.
  NmtData(const NmtOptions& options, const Vocabulary& vocabulary, int shards);

  std::string describe() const override;
  std::string item() const override { return "pair"; }
  uint64_t checksum() const override { return store_.checksum(); }
  void start_epoch(uint64_t epoch) override { batches_.start(epoch); }
  size_t batches() const override { return batches_.plan().size(); }
  RankBatch batch(size_t i, ShardRange own) const override;

 private:
  TokenStore store_;
  EpochBatches batches_;
};

// The validation pairs of `options`, with at most `longest` ids a side.
ValidationSet read_validation_set(const NmtOptions& options, const Vocabulary& vocabulary, int64_t longest);

}  // namespace gyre
