#include "gyre/train/tasks/language/language_data.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/core/number_text.h"
#include "gyre/core/random.h"
#include "gyre/data/batch/answer_batch.h"
#include "gyre/data/batch/document_batch.h"
#include "gyre/data/chat/answer_store.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/tokenizer/hugging_face_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/resume.h"
#include "gyre/train/tasks/language/language_stages.h"

namespace gyre {

namespace {

constexpr std::string_view kBitsPerByte = "bits-per-byte";

bool wants_bytes(const LanguageOptions& options) {
  return std::ranges::find(options.validation.metrics, kBitsPerByte) != options.validation.metrics.end();
}

bool continues_run(const LanguageOptions& options) {
  return !options.replay.checkpoint.empty() || continues(options.start);
}

// The run that the options resume or replay.
Path resumed_run(const LanguageOptions& options) {
  return options.replay.checkpoint.empty() ? options.start.directory : find_run(options.replay.checkpoint);
}

// The text of --chat-template, or else of the run that continues, of the pretrained model or of the vocabulary. Empty
// if there is none. A run that continues does not need the file anymore.
std::string text_of_chat_template(const LanguageOptions& options, const Vocabulary& vocabulary) {
  const std::string& given = options.chat_template;
  const Path own = resumed_run(options) / kChatTemplateFile;
  const bool has_own = continues_run(options) && std::filesystem::exists(own);
  if (std::string text = ChatTemplate::built_in(given); !text.empty()) return text;
  if (!given.empty() && (!has_own || std::filesystem::exists(given))) {
    if (!std::filesystem::exists(given))
      throw UsageError("--chat-template: expected ", joined(built_in_chat_templates()), " or a file, got ", given);
    std::string text = read_file(given);
    if (is_blank(text)) throw UsageError("--chat-template: expected a template, found an empty file ", given);
    return text;
  }
  if (has_own) return read_file(own);
  const Path& pretrained = options.pretrained_model;
  const bool starts = !pretrained.empty() && std::filesystem::exists(pretrained);
  return find_chat_template(starts ? find_run(find_model_file(pretrained)) : Path(), vocabulary);
}

SharedDocuments open_answers(const LanguageOptions& options, const std::vector<Path>& files,
                             const Vocabulary& vocabulary) {
  std::optional<ChatTemplate> chat;
  if (options.format == SampleFormat::chat) {
    if (options.chat_template_text.empty())
      throw UsageError(
          "[--format] chat expects a chat template, and neither the vocabulary nor --pretrained-model has one: "
          "choose one with --chat-template (",
          joined(built_in_chat_templates()), ", or a file)");
    chat.emplace(options.chat_template.empty() ? std::string(kChatTemplate) : options.chat_template,
                 options.chat_template_text, vocabulary);
  }
  AnswerStore answers = read_answers(vocabulary, files, chat ? &*chat : nullptr, options.data.on_bad_line);
  for (const LineReport& file : answers.samples.report->files) spdlog::info("{}", file.describe());
  if (answers.shared > 0) {
    spdlog::warn(
        "{}: in {}, a token has the end of the prompt and the beginning of the answer, such as a space between them, "
        "which a prompt for the model does not have: let the answer begin with it",
        answers.samples.store.name(), counted(answers.shared, "sample"));
  }
  return std::make_shared<Documents>(std::move(answers.samples));
}

SharedDocuments open_documents(const LanguageOptions& options, const std::vector<Path>& files,
                               const Vocabulary& vocabulary) {
  if (options.has_answers()) return open_answers(options, files, vocabulary);
  DocumentOptions read{.end = parse_document_end(options.documents),
                       .line_ends = options.line_ends,
                       .text_field = options.text_field,
                       .on_bad_line = options.data.on_bad_line,
                       .accepts_sentences = continues_run(options)};
  Documents documents = open_documents(vocabulary, files, read);
  if (documents.report) {
    for (const LineReport& file : documents.report->files) spdlog::info("{}", file.describe());
  }
  if (!documents.store.has_documents()) {
    spdlog::warn(
        "{}: a store of sentences, which the run goes on reading as one document, as it began; for a new run, build it "
        "again with gyre data build --documents",
        documents.store.name());
  }
  if (documents.store.is_of_earlier_version() && options.documents != "whole" && keeps_line_ends(vocabulary)) {
    spdlog::info(
        "{}: built by an earlier version, which put nothing between the lines of a document; gyre data build "
        "now keeps their line ends",
        documents.store.name());
  }
  return std::make_shared<Documents>(std::move(documents));
}

// The options of the run that the directory holds, if it has begun.
std::optional<RunOptions> options_of_run(const LanguageOptions& options) {
  if (!options.replay.checkpoint.empty()) return read_train_state(options.replay.checkpoint).options;
  if (!continues(options.start)) return std::nullopt;
  const std::optional<TrainState> state = newest_train_state(options.start.directory);
  return state ? std::optional(state->options) : std::nullopt;
}

// The line ends of the token stores that the run trains on, if there are any. Throws an Error if two stores of the run
// have different ones: all of its texts are read in the same way.
std::optional<LineEnds> line_ends_of_stores(const LanguageOptions& options) {
  std::optional<LineEnds> first;
  std::string name;
  const auto compare = [&](const std::vector<Path>& files, bool trains) {
    for (const Path& file : expand_paths(files)) {
      if ((!trains && !first) || !TokenStore::recognizes(file)) continue;
      const TokenStore store(file);
      const LineEnds has = store.line_ends().value_or(LineEnds::none);
      if (!first) {
        first = has;
        name = store.name();
      }
      require(has == *first, "[data] ", name, " was built with --line-ends ", enum_name(*first), ", ", store.name(),
              " with ", enum_name(has),
              ": build one of them again with the --line-ends of the other (earlier versions ", "had only none)");
    }
  };
  compare(options.data.train_sets, true);
  for (const LanguageStage& stage : options.stages) compare(stage.train_sets, true);
  compare(options.data.valid_sets, false);
  return first;
}

SharedSamples with_answers(const SharedDocuments& documents, const SampleOptions& options, Part part) {
  struct Owner {
    SharedDocuments documents;
    AnswerSamples samples;
  };
  auto owner = std::make_shared<Owner>(Owner{documents, AnswerSamples(documents->store, options, part)});
  const AnswerSamples& samples = owner->samples;
  if (samples.cut() + samples.left_out() > 0)
    spdlog::warn("{}: {} cut at {} tokens; {} left out, whose answers would begin after that", samples.name(),
                 counted(samples.cut(), "sample"), options.max_length, samples.left_out());
  return {owner, &samples};
}

SharedSamples cut(const SharedDocuments& documents, const SampleOptions& options, Part part) {
  if (options.task == SampleOptions::Task::answers) return with_answers(documents, options, part);
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

// A run that began with an earlier version goes on with the size of the decoded text, as it began.
void check_sizes(const TokenStore& store, const LanguageOptions& options, const Vocabulary& vocabulary) {
  if (has_exact_size(store, vocabulary)) return;
  constexpr const char* kAdvice = "gyre data build --line-ends none builds the same tokens with them";
  require(continues_run(options), "[data] ", store.name(), ": ", kBitsPerByte,
          " expects a store with the sizes of its text, got one of an earlier version; ", kAdvice);
  spdlog::warn(
      "{}: a store of an earlier version, without the sizes of its text; {} counts decoded text, as before; {}",
      store.name(), kBitsPerByte, kAdvice);
}

LanguageValidationSet make_set(const SharedDocuments& documents, const LanguageOptions& options,
                               SampleOptions::Task task, Part part, const Vocabulary& vocabulary) {
  const SampleOptions samples = options.samples(task);
  LanguageValidationSet set{documents->store.name(), cut(documents, samples, part)};
  if (!wants_bytes(options)) return set;
  check_sizes(documents->store, options, vocabulary);
  set.bytes = size_of_part(StorePart(documents->store, samples.validation_share, part), vocabulary).bytes;
  return set;
}

}  // namespace

std::optional<LineEnds> line_ends_of_run(const LanguageOptions& options, const Vocabulary& vocabulary) {
  if (options.line_ends || options.documents == "whole") return options.line_ends;
  if (const auto run = options_of_run(options)) {
    if (const std::string* recorded = run->find(std::string(kLineEndsOption)))
      return parse_enum<LineEnds>("--line-ends", *recorded);
    if (keeps_line_ends(vocabulary) && !line_ends_of_stores(options)) {
      spdlog::info(
          "nothing stands between the lines of a document, as when an earlier version began the run; a new run "
          "keeps their line ends");
    }
    return LineEnds::none;
  }
  return line_ends_of_stores(options).value_or(default_line_ends(vocabulary));
}

LanguageOptions options_of_run(const LanguageOptions& options, SampleOptions::Task task, const Vocabulary& vocabulary) {
  LanguageOptions resolved = options;
  if (!options.has_answers()) resolved.line_ends = line_ends_of_run(options, vocabulary);
  if (task != SampleOptions::Task::masked) resolved.chat_template_text = text_of_chat_template(options, vocabulary);
  return resolved;
}

Corpora open_corpora(const LanguageOptions& options, const Vocabulary& vocabulary) {
  if (options.train_weights.empty()) return {open_documents(options, options.data.train_sets, vocabulary)};
  Corpora corpora;
  for (const Path& file : options.data.train_sets) corpora.push_back(open_documents(options, {file}, vocabulary));
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
    sets.push_back(make_set(open_documents(options, {file}, vocabulary), options, task, Part::training, vocabulary));
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

MakeInput answer_inputs() {
  return [](const SampleSource& samples, std::span<const uint32_t> indices, uint64_t) -> MaskedInput {
    const MaskedBatch batch = make_answer_batch(samples, indices);
    return {to_tensor(batch.ids), batch.segments, to_tensor(batch.rows), to_tensor(batch.targets)};
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
  const LanguageOptions options = options_of_run(given, task, vocabulary);
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
    advance(progress, data->batch(progress.batch, /*own=*/{}), data->batches());
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
  const auto [task, make_input] = options->has_answers() ? std::pair(SampleOptions::Task::answers, answer_inputs())
                                                         : std::pair(SampleOptions::Task::next, next_token_inputs());
  return write_listing(collect(*options, task, *vocabulary, make_input, updates), file);
}

}  // namespace gyre
