#include "gyre/train/tasks/language/language_data.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "gyre/core/counted.h"
#include "gyre/core/error.h"
#include "gyre/core/random.h"
#include "gyre/data/batch/document_batch.h"
#include "gyre/data/store/document_store.h"
#include "gyre/train/tasks/to_tensor.h"

namespace gyre {
namespace {

constexpr std::string_view kBitsPerByte = "bits-per-byte";

bool wants_bytes(const LanguageOptions& options) {
  return std::ranges::find(options.validation.metrics, kBitsPerByte) != options.validation.metrics.end();
}

SharedDocuments open(const LanguageOptions& options, const std::vector<Path>& files, const Vocabulary& vocabulary) {
  Documents documents = open_documents(vocabulary, files, parse_document_end(options.documents),
                                       parse_on_bad_line(options.data.on_bad_line), wants_bytes(options));
  if (documents.report) {
    for (const LineReport& file : documents.report->files) spdlog::info("{}", file.describe());
  }
  return std::make_shared<Documents>(std::move(documents));
}

SharedSamples cut(const SharedDocuments& documents, const SampleOptions& options, Part part) {
  struct Owner {
    SharedDocuments documents;
    DocumentSamples samples;
  };
  auto owner = std::make_shared<Owner>(Owner{documents, DocumentSamples(documents->store, options, part)});
  return {owner, &owner->samples};
}

std::vector<SharedSamples> all_training_samples(const Corpora& corpora, const LanguageOptions& options,
                                                SampleOptions::Task task) {
  std::vector<SharedSamples> samples;
  for (const SharedDocuments& corpus : corpora) samples.push_back(training_samples(corpus, options, task));
  return samples;
}

// Replaces paths by the names of the files, if those differ.
void shorten_names(std::vector<LanguageValidationSet>& sets) {
  const auto file_name = [](const LanguageValidationSet& set) { return Path(set.name).filename().string(); };
  std::set<std::string> names;
  for (const LanguageValidationSet& set : sets) names.insert(file_name(set));
  if (names.size() < sets.size()) return;
  for (LanguageValidationSet& set : sets) set.name = file_name(set);
}

LanguageValidationSet make_set(const SharedDocuments& documents, const LanguageOptions& options,
                               SampleOptions::Task task, Part part, const Vocabulary& vocabulary) {
  const SampleOptions samples = options.samples(task);
  LanguageValidationSet set{documents->store.name(), cut(documents, samples, part)};
  if (wants_bytes(options))
    set.bytes = size_of_part(*documents, StorePart(documents->store, samples.validation_share, part), vocabulary).bytes;
  return set;
}

}  // namespace

Corpora open_corpora(const LanguageOptions& options, const Vocabulary& vocabulary) {
  if (options.train_weights.empty()) return {open(options, options.data.train_sets, vocabulary)};
  Corpora corpora;
  for (const Path& file : options.data.train_sets) corpora.push_back(open(options, {file}, vocabulary));
  return corpora;
}

uint64_t checksum_of(const Corpora& corpora) {
  uint64_t checksum = corpora.front()->store.checksum();
  for (size_t i = 1; i < corpora.size(); ++i) checksum = mix(checksum, corpora[i]->store.checksum());
  return checksum;
}

SharedSamples training_samples(const SharedDocuments& corpus, const LanguageOptions& options,
                               SampleOptions::Task task) {
  return cut(corpus, options.samples(task), Part::training);
}

std::vector<LanguageValidationSet> open_validation_sets(const LanguageOptions& options, SampleOptions::Task task,
                                                        const Corpora& corpora, const Vocabulary& vocabulary) {
  std::vector<LanguageValidationSet> sets;
  for (const Path& file : options.data.valid_sets)
    sets.push_back(make_set(open(options, {file}, vocabulary), options, task, Part::training, vocabulary));
  if (sets.empty()) {
    for (const SharedDocuments& corpus : corpora)
      sets.push_back(make_set(corpus, options, task, Part::validation, vocabulary));
  }
  shorten_names(sets);
  return sets;
}

MakeInput masked_inputs(Masking masking) {
  return [masking = std::move(masking)](const SampleSource& samples, std::span<const uint32_t> indices,
                                        uint64_t epoch) -> MaskedInput {
    const MaskedBatch batch = make_masked_batch(samples, masking, epoch, indices);
    return {to_tensor(batch.ids), batch.segments, to_tensor(batch.rows), to_tensor(batch.targets)};
  };
}

MakeInput next_token_inputs() {
  return [](const SampleSource& samples, std::span<const uint32_t> indices, uint64_t) -> MaskedInput {
    const NextTokenBatch batch = make_next_token_batch(samples, indices);
    return {to_tensor(batch.inputs), batch.segments, {}, to_tensor(batch.targets)};
  };
}

LanguageData::LanguageData(const Corpora& corpora, SampleOptions::Task task, MakeInput make_input,
                           LossFunction<MaskedInput> loss, const LanguageOptions& options, int micro_batches)
    : checksum_(checksum_of(corpora)),
      samples_(CorpusSamples(all_training_samples(corpora, options, task)), options.train_weights, options.seed),
      make_input_(std::move(make_input)),
      loss_(std::move(loss)),
      batches_(BatchItems(samples_.name(), samples_.size(), 1,
                          [this](size_t item, int) { return uint64_t(samples_.rows(item)); }),
               options.batch, options.seed, micro_batches) {}

std::string LanguageData::describe() const {
  const CorpusSamples& all = samples_.all();
  std::string text = concat(counted(all.size(), "sample"), " of ", counted(all.documents(), "document"), ", ",
                            counted(all.tokens(), "token"));
  const std::vector<SharedSamples>& corpora = all.corpora();
  for (size_t i = 0; corpora.size() > 1 && i < corpora.size(); ++i) {
    text += concat(i == 0 ? "; per epoch " : ", ", samples_.mix().shares()[i], " of the ",
                   counted(corpora[i]->size(), "sample"), " of ", corpora[i]->name());
  }
  return text;
}

void LanguageData::start_epoch(uint64_t epoch, uint64_t /*first_update*/) {
  if (epoch != batches_.epoch()) samples_.start_epoch(epoch);
  batches_.start(epoch);
}

// Every rank makes the inputs of all micro-batches, because they determine the number of predictions.
// Making them is cheap compared with training on them.
RankBatch LanguageData::batch(size_t i, MicroBatchRange own) const {
  samples_.all().require_untruncated();
  const std::span<const uint32_t> items = batches_.plan().batch(i);
  RankBatch batch;
  batch.sentences = items.size();
  for (const uint32_t item : items) batch.target_tokens += uint64_t(samples_.rows(item));
  const std::vector<std::vector<uint32_t>> micro_batches = batches_.micro_batches(items);
  for (int s = 0; s < int(micro_batches.size()); ++s) {
    MaskedInput input = make_input_(samples_, micro_batches[size_t(s)], batches_.epoch());
    const auto predictions = uint64_t(input.targets.size());
    batch.predictions += predictions;
    if (s >= own.begin && s < own.end)
      batch.micro_batches.push_back(make_micro_batch(loss_, std::move(input), predictions));
  }
  return batch;
}

}  // namespace gyre
