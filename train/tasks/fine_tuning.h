// Fine-tuning: loads pretrained encoders, and starts the training of an encoder with a classification head.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gyre/autograd/parameters.h"
#include "gyre/core/io/file.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/config/config.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/job.h"
#include "gyre/train/tasks/fine_tuning_options.h"

namespace gyre {

// A pretrained encoder with its vocabulary.
struct PretrainedEncoder {
  EncoderOnlyConfig config;
  std::shared_ptr<const Vocabulary> vocabulary;
  Path vocabulary_file;                 // copies of the vocabulary get the same file name
  std::shared_ptr<Parameters> weights;  // weights of the layers and of the model's head, by name, on the CPU
};

// Loads an encoder-only model or a classifier. `model`: a run directory, a checkpoint in it, or its model.safetensors;
// or a directory of Hugging Face (train/pretrained/hugging_face.h). Throws an Error for any other kind of model.
PretrainedEncoder load_pretrained(const Path& model);

// Copies the encoder's weights by name into all parameters of a classifier except those of its head.
void copy_encoder_weights(Parameters& classifier, const PretrainedEncoder& encoder);

// The encoder of a run, with the pretrained model if there is one.
struct InitialEncoder {
  EncoderOnlyConfig config;
  std::optional<PretrainedEncoder> pretrained;
};

// `encoder`: the configuration of a new model; with a pretrained model only its dropout is used. A run that continues
// has the pretrained model's configuration if that has been removed. Throws a UsageError if it is the run itself.
InitialEncoder initial_encoder(const FineTuningOptions& options, const EncoderOnlyConfig& encoder);

// The configuration of the classifier: the encoder with the head that the options choose. `outputs`: of the head.
ClassifierConfig classifier_config(const FineTuningOptions& options, const EncoderOnlyConfig& encoder, int64_t outputs);

// Fills in the vocabulary and the model of the run, and frees the pretrained model. Sets initial.config.vocab_size.
// `outputs`: number of outputs of the head. `loss_name`: see TrainingModel. Returns the network, which `parts` owns.
// Throws a UsageError if --max-length exceeds the positions of the encoder.
const SequenceClassifier& start_classifier(TaskParts& parts, const FineTuningOptions& options, InitialEncoder& initial,
                                           int64_t outputs, const std::string& loss_name, const JobContext& context);

}  // namespace gyre
