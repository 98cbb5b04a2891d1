// Documents as the samples of a language model: what to train on, in batches, and what to validate on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "data/document_plan.h"
#include "data/masking.h"
#include "data/vocabulary.h"
#include "train/epoch_batches.h"
#include "train/language_options.h"
#include "train/training_data.h"

namespace gyre {

// The samples, which keep their store.
using SharedSamples = std::shared_ptr<const DocumentSamples>;

// Opens a token store, or reads text; logs what was left out.
SharedSamples open_training_samples(const LanguageOptions& options, SampleOptions::Task task,
                                    const Vocabulary& vocabulary);
// Of the valid_sets, or the documents of the training store that were held out.
SharedSamples open_validation_samples(const LanguageOptions& options, const SharedSamples& training,
                                      const Vocabulary& vocabulary);

// The samples at `indices` as a MaskedInput, with what is to be predicted in this epoch.
using MakeShard =
    std::function<Shard(const DocumentSamples& samples, std::span<const uint32_t> indices, uint64_t epoch)>;
MakeShard masked_shards(Masking masking);
MakeShard next_token_shards();

class LanguageData final : public TrainingData {
 public:
  LanguageData(SharedSamples samples, MakeShard make_shard, const LanguageOptions& options, int shards);

  std::string describe() const override;
  std::string item() const override { return "sample"; }
  uint64_t checksum() const override { return samples_->store().checksum(); }
  void start_epoch(uint64_t epoch) override { batches_.start(epoch); }
  size_t batches() const override { return batches_.plan().size(); }
  RankBatch batch(size_t i, ShardRange own) const override;

 private:
  SharedSamples samples_;
  MakeShard make_shard_;
  EpochBatches batches_;
};

}  // namespace gyre
