#include "train/language_data.h"

#include <spdlog/spdlog.h>

#include "core/counted.h"
#include "core/error.h"
#include "data/document_batch.h"
#include "data/document_store.h"
#include "models/encoder_only.h"
#include "train/to_tensor.h"

namespace gyre {
namespace {

using SharedStore = std::shared_ptr<const TokenStore>;

SharedStore open_store(const LanguageOptions& options, const std::vector<Path>& files, const Vocabulary& vocabulary) {
  Documents documents =
      open_documents(vocabulary, files, parse_document_end(options.documents), parse_on_bad_line(options.on_bad_line));
  if (documents.report) {
    for (const LineReport& file : documents.report->files) spdlog::info("{}", file.describe());
  }
  return std::make_shared<TokenStore>(std::move(documents.store));
}

SharedSamples cut(const SharedStore& store, const SampleOptions& options, Part part) {
  struct Owner {
    SharedStore store;
    DocumentSamples samples;
  };
  auto owner = std::make_shared<Owner>(Owner{store, DocumentSamples(*store, options, part)});
  return {owner, &owner->samples};
}

}  // namespace

SharedSamples open_training_samples(const LanguageOptions& options, SampleOptions::Task task,
                                    const Vocabulary& vocabulary) {
  return cut(open_store(options, options.train_sets, vocabulary), options.samples(task), Part::training);
}

SharedSamples open_validation_samples(const LanguageOptions& options, const SharedSamples& training,
                                      const Vocabulary& vocabulary) {
  if (options.valid_sets.empty()) {
    return cut(SharedStore(training, &training->store()), training->options(), Part::validation);
  }
  return cut(open_store(options, options.valid_sets, vocabulary), training->options(), Part::training);
}

MakeShard masked_shards(Masking masking) {
  return [masking = std::move(masking)](const DocumentSamples& samples, std::span<const uint32_t> indices,
                                        uint64_t epoch) -> Shard {
    const MaskedBatch batch = make_masked_batch(samples, masking, epoch, indices);
    return {MaskedInput{to_tensor(batch.ids), batch.segments, to_tensor(batch.rows), to_tensor(batch.targets)},
            batch.targets.size()};
  };
}

MakeShard next_token_shards() {
  return [](const DocumentSamples& samples, std::span<const uint32_t> indices, uint64_t) -> Shard {
    const NextTokenBatch batch = make_next_token_batch(samples, indices);
    return {MaskedInput{to_tensor(batch.inputs), batch.segments, {}, to_tensor(batch.targets)}, batch.targets.size()};
  };
}

LanguageData::LanguageData(SharedSamples samples, MakeShard make_shard, const LanguageOptions& options, int shards)
    : samples_(std::move(samples)), make_shard_(std::move(make_shard)), batches_(samples_->items(), options, shards) {}

std::string LanguageData::describe() const {
  return concat(counted(samples_->size(), "sample"), " of ", counted(samples_->documents(), "document"), ", ",
                counted(samples_->tokens(), "token"));
}

// Every rank makes all shards: how many tokens are predicted in the whole batch is known only then, and making them is
// cheap beside training on them.
RankBatch LanguageData::batch(size_t i, ShardRange own) const {
  samples_->store().require_whole();
  const std::span<const uint32_t> indices = batches_.plan().batch(i);
  RankBatch batch;
  batch.sentences = indices.size();
  for (const uint32_t sample : indices) batch.target_tokens += uint64_t(samples_->rows(sample));
  const std::vector<std::vector<uint32_t>> shards = batches_.shards(indices);
  for (int s = 0; s < int(shards.size()); ++s) {
    Shard shard = make_shard_(*samples_, shards[size_t(s)], batches_.epoch());
    batch.predictions += shard.predictions;
    if (s >= own.begin && s < own.end) batch.shards.push_back(std::move(shard));
  }
  return batch;
}

}  // namespace gyre
