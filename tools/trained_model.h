// A trained model with its vocabulary, from a run directory.
#pragma once

#include <memory>
#include <string>

#include "core/file.h"
#include "data/vocabulary.h"
#include "models/encoder_decoder.h"

namespace gyre {

struct TrainedModel {
  std::shared_ptr<const Vocabulary> vocabulary;
  std::unique_ptr<EncoderDecoder> model;
};

// model: a run directory, a checkpoint in it, or its model.safetensors; `which` chooses within a run
// (train/model_file.h). vocabulary: a file other than the run's own copy, or empty. Throws when it does not fit.
TrainedModel load_trained_model(const Path& model, const std::string& which, const Path& vocabulary, Device device);

}  // namespace gyre
