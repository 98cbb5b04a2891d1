// What fine-tuning begins with: an encoder that has been trained, and its vocabulary.
#pragma once

#include <memory>

#include "autograd/parameters.h"
#include "core/file.h"
#include "data/vocabulary.h"
#include "models/config.h"

namespace gyre {

struct PretrainedEncoder {
  EncoderOnlyConfig config;
  std::shared_ptr<const Vocabulary> vocabulary;
  Path vocabulary_file;                 // its name is that of the copies
  std::shared_ptr<Parameters> weights;  // of the stack and of the model's own head, by name, on the CPU
};

// model: a run directory, a checkpoint in it, or its model.safetensors, of an encoder-only model or of a classifier; or
// a directory of Hugging Face's (train/hugging_face.h). Throws where it holds another kind of model.
PretrainedEncoder load_pretrained(const Path& model);

// Fills the stack of a classifier with the encoder's weights, by name; its head keeps its own values.
void fill_stack(Parameters& classifier, const PretrainedEncoder& encoder);

}  // namespace gyre
