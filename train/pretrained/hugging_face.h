// Imports and exports models in the directory format of Hugging Face transformers:
//
//   DIR/  config.json  model.safetensors (or the index of its shards)  vocab.txt or tokenizer.json
//         tokenizer_config.json  generation_config.json (of decoders and of translation models)
// A translation model is a MarianMTModel, with source.spm, target.spm and vocab.json.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/hugging_face/weights.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/pretrained/trained_model.h"

namespace gyre {

struct HuggingFaceModel {
  // On the CPU, f32.
  std::variant<std::unique_ptr<EncoderOnly>, std::unique_ptr<SequenceClassifier>, std::unique_ptr<EncoderDecoder>>
      model;
  std::shared_ptr<const Vocabulary> vocabulary;  // nullptr if the directory has none
  TensorReport tensors;
  std::optional<TrainedTask> task;  // task of a classifier
  std::vector<std::string> notes;   // remarks for the user, one line each

  Parameters& parameters() const;
};

// Whether the directory has a config.json of Hugging Face, which has a list of architectures.
bool is_hugging_face(const Path& directory);

// Reads a model. tokenizer: how to read its vocabulary. Throws an Error that names the file, and the key or the tensor.
HuggingFaceModel read_hugging_face(const Path& directory, const TokenizerChoice& tokenizer = {});

// A run without a training: weights, as a checkpoint of step 0: checkpoints/step-00000000/ {model.safetensors,
// state.json}.
struct RunOfWeights {
  const Parameters& weights;
  Json config;                                     // config.json
  Json state;                                      // state.json, without the checksums
  std::function<void(const Path& into)> complete;  // writes the other files of the run
};
// Throws an Error if there is a run already, unless `overwrite`, which leaves files that Gyre did not create. A failure
// leaves the old run as it was.
void write_run_of_weights(const Path& run, const RunOfWeights& content, bool overwrite);

// Copies the vocabulary, the chat template and generation_config.json of a run, those that it has.
void copy_model_files(const Path& run, const Path& into);

// Writes a run directory with the model (write_run_of_weights()). state.json records the source `from`, whose
// generation_config.json is copied. Throws an Error if there is a run already, unless `overwrite`, which leaves the
// files of a new directory and those that Gyre did not create. A failure leaves the old run as it was. Returns a
// description of the result.
std::string write_imported_run(const HuggingFaceModel& imported, const Path& from, const Path& run, bool overwrite);

struct ExportOptions {
  bool overwrite = false;  // replace a model in the directory; files that are not of a model stay
  // The longest text of the training, which a causal model without a table of positions is said to support; 0: unknown.
  int trained_length = 0;
  std::vector<std::string> classes = {};  // names of a classifier's classes; empty: LABEL_0, ..
  std::string chat_template = {};         // of the run, instead of that in the settings of the vocabulary; empty: none
  std::function<void(const Path& directory)> complete = {};  // writes further files beside those of the model
};

// Writes config.json, model.safetensors, generation_config.json of a causal model with a vocabulary and, if
// can_write_hugging_face(), the files of the tokenizer. Other vocabularies can belong to causal models only, and are
// not written. Throws an Error if transformers has no equivalent of the model, or if there is a model already, unless
// options.overwrite. A failure leaves the directory as it was. Returns a description of the result.
std::string write_hugging_face(const Path& directory, const EncoderOnly& model, const Vocabulary* vocabulary,
                               const ExportOptions& options = {});
std::string write_hugging_face(const Path& directory, const SequenceClassifier& model, const Vocabulary* vocabulary,
                               const ExportOptions& options = {});
// Also throws without a vocabulary, which has the ids that begin and end a translation.
std::string write_hugging_face(const Path& directory, const EncoderDecoder& model, const Vocabulary* vocabulary,
                               const ExportOptions& options = {});

// Whether transformers or PEFT reads a file of this name as a part of a model, or shows it as its card.
bool belongs_to_model(const std::string& name);

// Throws an Error if the directory holds a run, or, unless `overwrite`, files whose names belong to a model.
void require_free_for_model(const Path& directory, bool overwrite, bool (*belongs)(const std::string& name));
// Removes the files in a directory whose names belong to a model.
void remove_model(const Path& directory, bool (*belongs)(const std::string& name));

// Replaces a group of files in a directory: calls fill(new) with a hidden directory inside `directory`, then
// remove_old(), and moves what was filled in to its place. If `fill` throws, for example because the disk is full,
// `directory` is left as it was. Directories of the same name are merged. Creates `directory` if it is missing.
void replace_files(const Path& directory, const std::function<void(const Path&)>& fill,
                   const std::function<void()>& remove_old);

}  // namespace gyre
