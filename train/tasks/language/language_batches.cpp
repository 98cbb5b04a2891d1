#include "gyre/train/tasks/language/language_batches.h"

#include <spdlog/fmt/fmt.h>

#include <memory>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/core/number_text.h"
#include "gyre/train/tasks/language/language_data.h"
#include "gyre/train/tasks/language/language_stages.h"
#include "gyre/train/tasks/to_tensor.h"

namespace gyre {
namespace {

struct Batches {
  std::vector<NamedTensor> tensors;
  uint64_t updates = 0, samples = 0, rows = 0, predictions = 0;
};

void append(Batches& batches, const MaskedInput& input, size_t samples) {
  const std::string update = fmt::format("update-{:08}.", ++batches.updates);
  batches.tensors.push_back({update + "ids", input.ids});
  batches.tensors.push_back({update + "offsets", to_tensor(*input.segments.offsets())});
  if (input.masked_rows.defined()) batches.tensors.push_back({update + "rows", input.masked_rows});
  batches.tensors.push_back({update + "targets", input.targets});
  batches.samples += samples;
  batches.rows += uint64_t(input.segments.tokens());
  batches.predictions += uint64_t(input.targets.size());
}

// Goes through the data as training does, over all stages, and keeps the inputs that are made. There is one
// micro-batch, because the number of micro-batches does not change the global batch.
Batches collect(const LanguageOptions& given, SampleOptions::Task task, const Vocabulary& vocabulary,
                const MakeInput& make_input, uint64_t updates) {
  LanguageOptions options = given;
  options.line_ends = line_ends_of_run(given, vocabulary);
  Batches batches;
  const auto make_and_keep = [&](const SampleSource& all, std::span<const uint32_t> indices, uint64_t epoch) {
    MaskedInput input = make_input(all, indices, epoch);
    append(batches, input, indices.size());
    return input;
  };
  const auto make_data = [&](const LanguageOptions& stage, const Corpora& corpora) {
    return std::make_unique<LanguageData>(corpora, task, make_and_keep, /*loss=*/nullptr, stage, /*micro_batches=*/1);
  };
  const Corpora corpora = open_corpora(options, vocabulary);
  const auto data = make_training_data(options, open_stage_corpora(options, corpora, vocabulary), make_data);
  Progress progress;
  while (progress.updates < updates) {
    data->start_epoch(progress.epoch, progress.updates - progress.batch);
    count(progress, data->batch(progress.batch, /*own=*/{}), data->batches());
  }
  return batches;
}

std::string write_listing(const Batches& batches, const Path& file) {
  write_safetensors(file, batches.tensors);
  return concat(file.string(), ": ", counted(batches.updates, "update"), ", ", counted(batches.samples, "sample"), ", ",
                counted(batches.rows, "token"), ", ", counted(batches.predictions, "prediction"));
}

}  // namespace

std::string write_masked_batches(const Resolved<MaskedOptions>& options, uint64_t updates, const Path& file) {
  const auto vocabulary = load_vocabulary(options->data.vocabulary, options->tokenizer);
  const Masking masking(MaskingVocabulary::of(*vocabulary), options->masking(), options->seed);
  return write_listing(collect(*options, SampleOptions::Task::masked, *vocabulary, masked_inputs(masking), updates),
                       file);
}

std::string write_causal_batches(const Resolved<LanguageOptions>& options, uint64_t updates, const Path& file) {
  const auto vocabulary = load_vocabulary(options->data.vocabulary, options->tokenizer);
  return write_listing(collect(*options, SampleOptions::Task::next, *vocabulary, next_token_inputs(), updates), file);
}

}  // namespace gyre
