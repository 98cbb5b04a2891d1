// A trained model with its vocabulary, from a run directory.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/file.h"
#include "data/vocabulary.h"
#include "models/config.h"
#include "train/model_file.h"
#include "train/run_directory.h"

namespace gyre {

// Model: EncoderDecoder, EncoderOnly, SequenceClassifier
template <class Model>
struct TrainedModel {
  std::shared_ptr<const Vocabulary> vocabulary;
  std::unique_ptr<Model> model;
};

nlohmann::ordered_json read_json(const Path& file);

// The configuration in a run's config.json; errors name the file. Config: EncoderDecoderConfig, EncoderOnlyConfig,
// ClassifierConfig
template <class Config>
Config read_config(const Path& run);

// The name of the kind of model that a run holds (models/config.h).
std::string model_kind(const Path& run);

inline int64_t vocabulary_size(const ModelConfig& config) { return config.vocab_size; }
inline int64_t vocabulary_size(const ClassifierConfig& config) { return config.encoder.vocab_size; }

// Whether a run has a vocabulary: an imported one may have none.
bool has_vocabulary(const Path& run);
// run/vocab.*: training leaves exactly one. Throws where there is none or several.
Path find_vocabulary(const Path& run);
// The run's own vocabulary, or another `file`; throws unless it has `size` pieces.
std::shared_ptr<const Vocabulary> load_run_vocabulary(const Path& run, const Path& file, int64_t size);

// An option of train/resume.h ("documents") that holds for all of a run, from the checkpoint that `model` and `which`
// stand for; an average of checkpoints asks the run's newest one. None: it is not known, as of an imported model.
std::optional<std::string> trained_option(const Path& model, const std::string& which, const std::string& name);
// The tokens of a sample that a causal model was trained on: 512 where that is not known.
int trained_length(const Path& model, const std::string& which);

// model: a run directory, a checkpoint in it, or its model.safetensors; `which` chooses within a run
// (train/model_file.h). The weights must be those of `config`.
template <class Model>
std::unique_ptr<Model> load_model(const typename Model::Config& config, const Path& model, const std::string& which,
                                  Device device) {
  auto loaded = std::make_unique<Model>(config);
  loaded->parameters().allocate(0, DType::f32, device);  // the initial values are overwritten
  load_model_weights(model, loaded->parameters(), which);
  return loaded;
}

// Of the configuration that stands with them.
template <class Model>
std::unique_ptr<Model> load_model(const Path& model, const std::string& which, Device device) {
  return load_model<Model>(read_config<typename Model::Config>(find_run(model)), model, which, device);
}

// The same with its vocabulary: a file other than the run's own copy, or empty. Throws when it does not fit.
template <class Model>
TrainedModel<Model> load_trained_model(const Path& model, const std::string& which, const Path& vocabulary,
                                       Device device) {
  const Path run = find_run(model);
  const auto config = read_config<typename Model::Config>(run);
  return {load_run_vocabulary(run, vocabulary, vocabulary_size(config)), load_model<Model>(model, which, device)};
}

}  // namespace gyre
