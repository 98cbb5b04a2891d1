#include "gyre/train/tasks/language/language_data.h"

#include <spdlog/spdlog.h>

#include "gyre/core/counted.h"
#include "gyre/core/error.h"
#include "gyre/data/batch/document_batch.h"
#include "gyre/data/store/document_store.h"
#include "gyre/train/tasks/to_tensor.h"

namespace gyre {
namespace {

SharedSamples cut(const SharedStore& store, const SampleOptions& options, Part part) {
  struct Owner {
    SharedStore store;
    DocumentSamples samples;
  };
  auto owner = std::make_shared<Owner>(Owner{store, DocumentSamples(*store, options, part)});
  return {owner, &owner->samples};
}

}  // namespace

SharedStore open_store(const LanguageOptions& options, const std::vector<Path>& files, const Vocabulary& vocabulary) {
  Documents documents = open_documents(vocabulary, files, parse_document_end(options.documents),
                                       parse_on_bad_line(options.data.on_bad_line));
  if (documents.report) {
    for (const LineReport& file : documents.report->files) spdlog::info("{}", file.describe());
  }
  return std::make_shared<TokenStore>(std::move(documents.store));
}

SharedSamples training_samples(const SharedStore& store, const LanguageOptions& options, SampleOptions::Task task) {
  return cut(store, options.samples(task), Part::training);
}

SharedSamples open_validation_samples(const LanguageOptions& options, SampleOptions::Task task,
                                      const SharedStore& training, const Vocabulary& vocabulary) {
  if (options.data.valid_sets.empty()) return cut(training, options.samples(task), Part::validation);
  return training_samples(open_store(options, options.data.valid_sets, vocabulary), options, task);
}

MakeInput masked_inputs(Masking masking) {
  return [masking = std::move(masking)](const DocumentSamples& samples, std::span<const uint32_t> indices,
                                        uint64_t epoch) -> MaskedInput {
    const MaskedBatch batch = make_masked_batch(samples, masking, epoch, indices);
    return {to_tensor(batch.ids), batch.segments, to_tensor(batch.rows), to_tensor(batch.targets)};
  };
}

MakeInput next_token_inputs() {
  return [](const DocumentSamples& samples, std::span<const uint32_t> indices, uint64_t) -> MaskedInput {
    const NextTokenBatch batch = make_next_token_batch(samples, indices);
    return {to_tensor(batch.inputs), batch.segments, {}, to_tensor(batch.targets)};
  };
}

LanguageData::LanguageData(SharedSamples samples, MakeInput make_input, LossFunction<MaskedInput> loss,
                           const LanguageOptions& options, int micro_batches)
    : samples_(std::move(samples)),
      make_input_(std::move(make_input)),
      loss_(std::move(loss)),
      batches_(samples_->items(), options.batch, options.seed, micro_batches) {}

std::string LanguageData::describe() const {
  return concat(counted(samples_->size(), "sample"), " of ", counted(samples_->documents(), "document"), ", ",
                counted(samples_->tokens(), "token"));
}

// Every rank makes the inputs of all micro-batches, because they determine the number of predictions.
// Making them is cheap compared with training on them.
RankBatch LanguageData::batch(size_t i, MicroBatchRange own) const {
  samples_->store().require_untruncated();
  const std::span<const uint32_t> indices = batches_.plan().batch(i);
  RankBatch batch;
  batch.sentences = indices.size();
  for (const uint32_t sample : indices) batch.target_tokens += uint64_t(samples_->rows(sample));
  const std::vector<std::vector<uint32_t>> micro_batches = batches_.micro_batches(indices);
  for (int s = 0; s < int(micro_batches.size()); ++s) {
    MaskedInput input = make_input_(*samples_, micro_batches[size_t(s)], batches_.epoch());
    const auto predictions = uint64_t(input.targets.size());
    batch.predictions += predictions;
    if (s >= own.begin && s < own.end)
      batch.micro_batches.push_back(make_micro_batch(loss_, std::move(input), predictions));
  }
  return batch;
}

}  // namespace gyre
