// Starts the training of an encoder with a classification head: loads the pretrained model, and makes the model and the
// vocabulary of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gyre/models/config/config.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/job.h"
#include "gyre/train/pretrained/pretrained.h"
#include "gyre/train/tasks/fine_tuning_options.h"

namespace gyre {

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
