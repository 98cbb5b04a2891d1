// Pretrained encoders for fine-tuning, with their vocabulary.
#pragma once

#include <memory>

#include "gyre/autograd/parameters.h"
#include "gyre/core/io/file.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/config/config.h"

namespace gyre {

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

}  // namespace gyre
