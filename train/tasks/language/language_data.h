// Documents as the samples of a language model: training batches and validation samples.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "gyre/data/batch/document_plan.h"
#include "gyre/data/batch/masking.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/tasks/epoch_batches.h"
#include "gyre/train/tasks/language/language_options.h"
#include "gyre/train/training_data.h"

namespace gyre {

using SharedStore = std::shared_ptr<const TokenStore>;
// Samples that also keep their store alive.
using SharedSamples = std::shared_ptr<const DocumentSamples>;

// Opens a token store, or reads text and logs how many lines were skipped.
SharedStore open_store(const LanguageOptions& options, const std::vector<Path>& files, const Vocabulary& vocabulary);
// Cuts the training documents of a store into samples.
SharedSamples training_samples(const SharedStore& store, const LanguageOptions& options, SampleOptions::Task task);
// Opens valid_sets, or takes the held-out documents of the training store.
SharedSamples open_validation_samples(const LanguageOptions& options, SampleOptions::Task task,
                                      const SharedStore& training, const Vocabulary& vocabulary);

// Packs the samples at `indices` and chooses the tokens to predict in this epoch: the targets of the input.
using MakeInput =
    std::function<MaskedInput(const DocumentSamples& samples, std::span<const uint32_t> indices, uint64_t epoch)>;
MakeInput masked_inputs(Masking masking);
MakeInput next_token_inputs();

class LanguageData final : public TrainingData {
 public:
  LanguageData(SharedSamples samples, MakeInput make_input, LossFunction<MaskedInput> loss,
               const LanguageOptions& options, int micro_batches);

  std::string describe() const override;
  std::string item() const override { return "sample"; }
  uint64_t checksum() const override { return samples_->store().checksum(); }
  void start_epoch(uint64_t epoch, uint64_t) override { batches_.start(epoch); }
  size_t batches() const override { return batches_.plan().size(); }
  RankBatch batch(size_t i, MicroBatchRange own) const override;

 private:
  SharedSamples samples_;
  MakeInput make_input_;
  LossFunction<MaskedInput> loss_;
  EpochBatches batches_;
};

}  // namespace gyre
