#include "gyre/train/tasks/initial_weights.h"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <system_error>

#include "gyre/core/option_checks.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/pretrained/trained_model.h"

namespace gyre {

VocabularyFile load_training_vocabulary(const TrainOptions& options, const TokenizerChoice& tokenizer) {
  const Path &given = options.data.vocabulary, &run = options.start.directory;
  if (!continues(options.start)) return {given, load_vocabulary(given, tokenizer)};
  const bool is_missing = !std::filesystem::exists(given);
  const auto own = own_vocabulary(run);
  const bool is_own = own && (is_missing || std::filesystem::equivalent(given, *own));
  if (is_own && is_missing && !given.empty())
    spdlog::info("vocabulary: {}, because {} does not exist", own->string(), given.string());
  // The copy is complete: it needs no choice of a tokenizer.
  VocabularyFile used =
      is_own ? VocabularyFile{*own, load_vocabulary(*own)} : VocabularyFile{given, load_vocabulary(given, tokenizer)};
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

void allocate_initial_weights(Parameters& parameters, const TrainOptions& options, const Path& pretrained,
                              const Vocabulary& vocabulary, const JobContext& context) {
  parameters.allocate(options.seed, DType::f32, context.kernels.device());
  if (!starts_from(pretrained, options.start)) return;
  require_other_run(pretrained, options.start);
  if (continues(options.start)) return;
  const Path run = find_run(pretrained), &file = options.data.vocabulary;
  std::error_code ignored;
  const auto own = own_vocabulary(run);
  const bool is_own = own && std::filesystem::equivalent(file, *own, ignored);
  require_run_vocabulary(run, vocabulary, concat(is_own ? "--pretrained-model: " : "--vocab: ", file.string()));
  load_model_weights(pretrained, parameters);
  spdlog::info("initial weights: {}", describe_model(pretrained));
}

}  // namespace gyre
