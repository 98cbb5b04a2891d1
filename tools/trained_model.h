// A trained model with its vocabulary, from a run directory.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "core/file.h"
#include "data/vocabulary.h"
#include "train/model_file.h"
#include "train/run_directory.h"

namespace gyre {

// Model: EncoderDecoder, EncoderOnly, ..
template <class Model>
struct TrainedModel {
  std::shared_ptr<const Vocabulary> vocabulary;
  std::unique_ptr<Model> model;
};

// The configuration in a run's config.json; errors name the file.
template <class Config>
Config read_config(const Path& run) {
  const Path file = config_path(run);
  const auto json = nlohmann::ordered_json::parse(read_file(file), nullptr, false);
  require(!json.is_discarded(), file.string(), ": expected JSON");
  try {
    return Config::from_json(json);
  } catch (const Error& error) {
    throw Error(file.string(), ": ", error.what());
  }
}

// The run's own vocabulary, or another `file`; throws unless it has `size` pieces.
std::shared_ptr<const Vocabulary> load_run_vocabulary(const Path& run, const Path& file, int64_t size);

// model: a run directory, a checkpoint in it, or its model.safetensors; `which` chooses within a run
// (train/model_file.h). vocabulary: a file other than the run's own copy, or empty. Throws when it does not fit.
template <class Model>
TrainedModel<Model> load_trained_model(const Path& model, const std::string& which, const Path& vocabulary,
                                       Device device) {
  const Path run = find_run(model);
  const auto config = read_config<typename Model::Config>(run);
  TrainedModel<Model> trained{load_run_vocabulary(run, vocabulary, config.vocab_size), std::make_unique<Model>(config)};
  trained.model->parameters().allocate(0, DType::f32, device);  // the initial values are overwritten
  load_model_weights(model, trained.model->parameters(), which);
  return trained;
}

}  // namespace gyre
