// Loads trained models from run directories, with their vocabularies, their tasks and the state of their runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/labeled_text.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/config/config.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/checkpoint/run_directory.h"

namespace gyre {

// Model: EncoderDecoder, EncoderOnly, SequenceClassifier
template <class Model>
struct TrainedModel {
  std::shared_ptr<const Vocabulary> vocabulary;
  std::unique_ptr<Model> model;
};

Json read_json(const Path& file);

// Reads the configuration in a run's config.json. Errors name the file. Config: EncoderDecoderConfig,
// EncoderOnlyConfig, ClassifierConfig.
template <class Config>
Config read_config(const Path& run);

// Returns the kind of a run's model, as in config.json (models/config/config.h).
std::string model_kind(const Path& run);

// Numbers of pieces of the sources and of the targets of a translation model; any other model has one number.
struct VocabularySizes {
  VocabularySizes(int64_t both) : source(both), target(both) {}  // implicit, for models with one vocabulary
  VocabularySizes(int64_t of_sources, int64_t of_targets) : source(of_sources), target(of_targets) {}

  int64_t source, target;
};
inline VocabularySizes vocabulary_sizes(const EncoderOnlyConfig& c) { return c.vocab_size; }
inline VocabularySizes vocabulary_sizes(const ClassifierConfig& c) { return c.encoder.vocab_size; }
inline VocabularySizes vocabulary_sizes(const EncoderDecoderConfig& c) { return {c.vocab_size, c.output_size()}; }

// Whether a run has a vocabulary. An imported model may have none.
bool has_vocabulary(const Path& run);
// Returns run/vocab.* if there is exactly one such file.
std::optional<Path> own_vocabulary(const Path& run);
// Returns run/vocab.*; training writes exactly one. Throws an Error if there is none or more than one.
Path find_vocabulary(const Path& run);
// Throws an Error that calls the vocabulary `name` if the weights of the run belong to another one, by the fingerprint
// in its checkpoints or, for an imported model, that of its copy. Any vocabulary fits an imported model without one.
void require_run_vocabulary(const Path& run, const Vocabulary& vocabulary, const std::string& name);
// Loads the vocabulary of a run, or `file` if not empty, with `target` if the targets have one of their own. Throws an
// Error unless it has these sizes and is that of the run: the copy in the run may have been replaced.
std::shared_ptr<const Vocabulary> load_run_vocabulary(const Path& run, const Path& file, VocabularySizes sizes,
                                                      const Path& target = {});

// Returns the value of an option of train/checkpoint/run_options.h that never changes during a run (such as
// "documents"), from the checkpoint selected by `model` and `which`, or for an average of checkpoints from the newest
// checkpoint of the run. nullopt if it is unknown, as for an imported model.
std::optional<std::string> trained_option(const Path& model, const std::string& which, const std::string& name);
// Returns --max-length of the training, the largest of the stages that have begun. nullopt if it is unknown, as for an
// imported model.
std::optional<int> longest_sample(const Path& model, const std::string& which);
// Likewise for an encoder-only model. If it is unknown, returns max_positions of the configuration, which is
// max_position_embeddings of Hugging Face.
int trained_length(const Path& model, const std::string& which);

// Loads a model. `model`: a run directory, a checkpoint in it, or its model.safetensors. `which`: selects a checkpoint
// of a run (train/checkpoint/model_file.h). Throws an Error if the weights do not match `config`.
template <class Model>
std::unique_ptr<Model> load_model(const typename Model::Config& config, const Path& model, const std::string& which,
                                  Device device) {
  auto loaded = std::make_unique<Model>(config);
  loaded->parameters().allocate_zeros(DType::f32, device);
  load_model_weights(model, loaded->parameters(), which);
  return loaded;
}

// Loads a model with the configuration in its run directory.
template <class Model>
std::unique_ptr<Model> load_model(const Path& model, const std::string& which, Device device) {
  return load_model<Model>(read_config<typename Model::Config>(find_run(model)), model, which, device);
}

// Loads a model and its vocabulary. `vocabulary`: a file that replaces the run's copy, or empty; target_vocabulary: one
// of the targets beside it, or empty. Throws an Error if the vocabulary does not fit the model.
template <class Model>
TrainedModel<Model> load_trained_model(const Path& model, const std::string& which, const Path& vocabulary,
                                       Device device, const Path& target_vocabulary = {}) {
  const Path run = find_run(model);
  const auto config = read_config<typename Model::Config>(run);
  return {load_run_vocabulary(run, vocabulary, vocabulary_sizes(config), target_vocabulary),
          load_model<Model>(model, which, device)};
}

// Finds the state of the run that trained a model. Returns that in the checkpoint selected by `model` and `which`
// (train/checkpoint/model_file.h). For an average of checkpoints, that of the newest of them which still exists.
// nullopt if there is none, as for an imported model.
std::optional<TrainState> find_train_state(const Path& model, const std::string& which);
// Returns the state in the newest checkpoint of a run that has a readable one: resuming skips broken ones, too.
std::optional<TrainState> newest_train_state(const Path& run);
// Like find_train_state, or else the newest state, for what all checkpoints of the run have in common. Of a run of
// imported adapters, that of their base.
std::optional<TrainState> find_run_state(const Path& model, const std::string& which);

// run/task.json: the task of a classifier, which its evaluation needs in addition to the model.
//   {"header": true, "text": {"name": "sentence", "number": 0}, "second_text": null, "label": {"name": "label", ..},
//    "classes": ["0", "1"], "metrics": ["accuracy"], "max_length": 128}
// That of an imported classifier also has "imported": true.
struct TrainedTask {
  LabeledFormat format;
  std::vector<std::string> metrics;
  int max_length = 0;        // rows are truncated to this number of ids; 0: as in training by default
  bool is_imported = false;  // whether gyre import wrote it: the columns of the rows are unknown then

  Json to_json() const;
};

// The task of an imported classifier with these classes; none: a regression. The columns are the first two of a file
// with a header line.
TrainedTask imported_task(std::vector<std::string> classes);

// Reads run/task.json. Throws an Error that names the file if it is invalid.
TrainedTask read_task(const Path& run);

}  // namespace gyre
