#include "gyre/train/tasks/initial_weights.h"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <system_error>

#include "gyre/core/option_checks.h"
#include "gyre/data/text/utf8.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/pretrained/trained_model.h"

namespace gyre {

VocabularyFile load_training_vocabulary(const TrainOptions& options, const TokenizerChoice& tokenizer) {
  const Path &given = options.data.vocabulary, &target = options.data.target_vocabulary, &run = options.start.directory;
  if (!continues(options.start)) return {given, load_vocabulary(given, target, tokenizer)};
  const bool is_missing = !std::filesystem::exists(given) || (!target.empty() && !std::filesystem::exists(target));
  const auto own = own_vocabulary(run);
  const bool is_own = own && (is_missing || (target.empty() && std::filesystem::equivalent(given, *own)));
  if (is_own && is_missing && !given.empty())
    spdlog::info("vocabulary: {}, because {} does not exist", own->string(), given.string());
  // The copy is complete: it needs no choice of a tokenizer.
  VocabularyFile used = is_own ? VocabularyFile{*own, load_vocabulary(*own)}
                               : VocabularyFile{given, load_vocabulary(given, target, tokenizer)};
  // Before any data are read with it, whose errors would hide this one.
  require_run_vocabulary(run, *used.vocabulary, used.path.string());
  return used;
}

bool starts_from(const Path& pretrained, const StartOptions& start) {
  return !pretrained.empty() && !(continues(start) && !std::filesystem::exists(pretrained));
}

void require_other_run(const Path& pretrained, const StartOptions& start) {
  std::error_code ignored;
  expect(!std::filesystem::equivalent(find_run(pretrained), start.directory, ignored), "--pretrained-model",
         "another run than --model", pretrained.string());
}

namespace {

// Throws an Error unless the vocabulary is that of the pretrained model.
void require_pretrained_vocabulary(const Path& pretrained, const Path& file, const Vocabulary& vocabulary) {
  const Path run = find_run(pretrained);
  std::error_code ignored;
  const auto own = own_vocabulary(run);
  const bool is_own = own && std::filesystem::equivalent(file, *own, ignored);
  require_run_vocabulary(run, vocabulary, concat(is_own ? "--pretrained-model: " : "--vocab: ", file.string()));
}

// Reads the weights of a model whose architecture may be another.
void load_initial(const InitialWeights& from, Parameters& parameters, bool logs) {
  if (from.changes.empty()) return load_model_weights(from.pretrained, parameters);
  // Encodings give tensors of other meanings the same name.
  const auto is_other = [&](const std::string& name) {
    return from.other_positions && name.find(".embed_positions.") != name.npos;
  };
  const auto [of_file, of_model] = load_common_weights(from.pretrained, parameters, is_other);
  if (!logs) return;
  if (!of_file.empty()) spdlog::warn("initial weights: not read: {}", printable_line(joined(of_file)));
  if (!of_model.empty()) spdlog::warn("initial weights: newly initialized: {}", joined(of_model));
}

// Reads the base, on this rank. A run that continues has a record of it.
LoraRecord read_base(Parameters& base, const StartOptions& start, const InitialWeights& from) {
  const auto recorded = continues(start) ? find_lora_record(start.directory) : std::nullopt;
  if (recorded && !starts_from(from.pretrained, start)) {
    load_base(*recorded, start.directory, base);
    return {from.lora, recorded->base, recorded->digest};
  }
  load_model_weights(from.pretrained, base);
  LoraRecord record{from.lora, find_model_file(from.pretrained), weights_digest(base)};
  require(!recorded || recorded->digest == record.digest, "[--pretrained-model] ", record.base.string(),
          ": expected the base that the adapters in ", start.directory.string(), " belong to, with the digest ",
          recorded ? recorded->digest : "", " (it was ", recorded ? recorded->base.string() : "", "), got ",
          record.digest);
  return record;
}

}  // namespace

TrainedAdapters allocate_initial_weights(Parameters& parameters, const TrainOptions& options,
                                         const InitialWeights& from, const Vocabulary& vocabulary,
                                         const JobContext& context) {
  const Device device = context.kernels.device();
  const bool is_new = !continues(options.start), adapts = from.lora.rank > 0;
  if (adapts) {
    parameters.allocate_zeros(DType::f32, device);
    parameters.free_gradients();
  } else {
    parameters.allocate(options.seed, DType::f32, device);
  }
  if (starts_from(from.pretrained, options.start)) {
    require_other_run(from.pretrained, options.start);
    if (is_new) require_pretrained_vocabulary(from.pretrained, options.data.vocabulary, vocabulary);
    const bool logs = is_new && context.ranks.rank() == 0;
    if (logs) spdlog::info("initial weights: {}", describe_model(from.pretrained));
    if (logs && !from.changes.empty()) spdlog::warn("initial weights: of another architecture: {}", from.changes);
    if (is_new && !adapts) load_initial(from, parameters, logs);
  }
  if (!adapts) return {};
  TrainedAdapters trained{nullptr, read_base(parameters, options.start, from)};
  trained.adapters = std::make_unique<LoraAdapters>(parameters, from.lora, from.fused);
  trained.adapters->parameters().allocate(options.seed, DType::f32, device);
  return trained;
}

}  // namespace gyre
