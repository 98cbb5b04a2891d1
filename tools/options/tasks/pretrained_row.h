// --pretrained-model of the tasks that train all parts of a model: new runs that start from the weights of another run.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/resume.h"
#include "gyre/train/tasks/initial_weights.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// Lets the row --pretrained-model set `config`, like a preset: other options override its values, and
// check_pretrained_model() accepts those that agree with the model. Options: has pretrained_model.
template <class Options, class Config>
void take_pretrained_config(OptionTable& table, const Options& options, Config& config) {
  table.when_set("pretrained-model", [&options, &config] {
    if (std::filesystem::exists(options.pretrained_model))
      config = read_config<Config>(find_run(options.pretrained_model));
  });
}

// Call after resolve(). Takes the vocabulary of the pretrained model unless the options give one. Throws a UsageError
// if the options give another architecture. A run that continues does not need the pretrained model anymore: without
// it, its own architecture counts.
template <class Options, class Config>
void check_pretrained_model(Options& options, Config& config) {
  const Path& model = options.pretrained_model;
  if (model.empty()) return;
  if (!starts_from(model, options.start)) {
    config = read_config<Config>(options.start.directory);
    if (options.data.vocabulary.empty()) options.data.vocabulary = find_vocabulary(options.start.directory);
    return;
  }
  const Path run = find_run(find_model_file(model));
  if (options.data.vocabulary.empty()) options.data.vocabulary = find_vocabulary(run);
  Config pretrained = read_config<Config>(run);
  pretrained.vocab_size = config.vocab_size;  // checked when the vocabulary is loaded
  const std::string fields = config_changes(pretrained.to_json(), config.to_json()).of_model;
  if (!fields.empty())
    throw UsageError("[--pretrained-model] the options give another architecture than ", model.string(), " has (",
                     fields, "): leave them out");
}

}  // namespace gyre
