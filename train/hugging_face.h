// A model's directory as Hugging Face's transformers keeps it, and a run directory of Gyre's:
//
//   DIR/  config.json  model.safetensors (or the index of its shards)  vocab.txt or tokenizer.json
//         tokenizer_config.json
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "data/vocabulary.h"
#include "models/encoder_only.h"
#include "models/hugging_face/weights.h"
#include "models/sequence_classifier.h"

namespace gyre {

struct HuggingFaceModel {
  // On the CPU, f32.
  std::variant<std::unique_ptr<EncoderOnly>, std::unique_ptr<SequenceClassifier>> model;
  std::shared_ptr<const Vocabulary> vocabulary;  // none: the directory has none
  TensorReport tensors;
  std::vector<std::string> notes;  // a line each for what else the user should know

  Parameters& parameters() const;
};

// Whether the directory holds a config.json of Hugging Face's, which names its architectures.
bool is_hugging_face(const Path& directory);

// Errors name the file, and the key or the tensor.
HuggingFaceModel read_hugging_face(const Path& directory);

// A run directory that holds the model at step 0, in checkpoints/step-00000000/ {model.safetensors, state.json}, as if
// it had been trained: `from` is noted there. An Error where there is a run already, unless `overwrite`. Returns what
// was made, in words.
std::string write_imported_run(const HuggingFaceModel& imported, const Path& from, const Path& run, bool overwrite);

// config.json, model.safetensors, and the vocabulary's files where there is one. An Error for a model that has no form
// there, and where there is a model already, unless `overwrite`. Returns what was made, in words.
std::string write_hugging_face(const Path& directory, const EncoderOnly& model, const Vocabulary* vocabulary,
                               bool overwrite);
std::string write_hugging_face(const Path& directory, const SequenceClassifier& model, const Vocabulary* vocabulary,
                               bool overwrite);

}  // namespace gyre
