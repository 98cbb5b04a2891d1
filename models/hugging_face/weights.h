// Converts Gyre's parameters to and from the tensors of Hugging Face's BERT and RoFormer (names as in transformers'
// modeling_bert.py and modeling_roformer.py).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/models/hugging_face/config.h"

namespace gyre {

// Views of the parameters' values under Hugging Face's names. Gyre stores the projections of queries, keys and values
// as one matrix; each of their views is a third of it.
std::vector<NamedTensor> hugging_face_views(const Parameters& parameters, HuggingFaceFamily family);

// The tensors of an exported file: the views and, for RoFormer, the constant table "embed_positions" of its rotation,
// (positions, head width). Row m of the table is [sin(m theta_j), j = 0 .. | cos(m theta_j), j = 0 ..].
std::vector<NamedTensor> hugging_face_tensors(const Parameters& parameters, const EncoderOnlyConfig& config);

// The number of tensors that an import read, and the names of those that it ignored.
struct TensorReport {
  size_t read = 0;
  std::vector<std::string> of_other_heads;  // ignored: they belong to heads that the model does not have
  std::vector<std::string> repeats;         // ignored: they are redundant
};

// Reads the parameters of a model with this config. Accepts older names (LayerNorm.gamma, .beta). Redundant tensors
// (the output's table, RoFormer's positions) may be absent; if present, they must agree with the others. Ignores the
// heads that the model does not have. Throws an Error that names the files and every tensor that is missing, unexpected
// or of a wrong shape.
TensorReport read_hugging_face_weights(std::span<const SafetensorsFile> files, Parameters& parameters,
                                       const EncoderOnlyConfig& config);

}  // namespace gyre
