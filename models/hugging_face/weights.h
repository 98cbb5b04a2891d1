// Gyre's parameters under the names that Hugging Face's BERT and RoFormer give them (transformers' modeling_bert.py and
// modeling_roformer.py), by one table read in both directions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "autograd/parameters.h"
#include "core/safetensors.h"
#include "models/hugging_face/config.h"

namespace gyre {

// Views of the values: queries, keys and values are a third each of what Gyre keeps as one matrix.
std::vector<NamedTensor> hugging_face_views(const Parameters& parameters, HuggingFaceFamily family);

// What a file of them holds: the views and, of RoFormer, "embed_positions", a table of its rotation (positions, width
// of a head) that is not trained: row m is [sin(m theta_j), j = 0 .. | cos(m theta_j), j = 0 ..].
std::vector<NamedTensor> hugging_face_tensors(const Parameters& parameters, const EncoderOnlyConfig& config);

// Counts the tensors that an import read, and names those that it left out.
struct TensorReport {
  size_t read = 0;
  std::vector<std::string> of_other_heads;  // left out: the model does not have these
  std::vector<std::string> repeats;         // left out: they follow from what was read
};

// Fills the parameters of a model with this config. Older spellings (LayerNorm.gamma, .beta) are understood; tensors
// that only repeat others (the output's table, RoFormer's positions) may be missing, and must say the same when they
// are there. Heads that the model does not have are left out. An Error names the files and every tensor that is
// missing, unexpected or of a wrong shape.
TensorReport read_hugging_face_weights(std::span<const SafetensorsFile> files, Parameters& parameters,
                                       const EncoderOnlyConfig& config);

}  // namespace gyre
