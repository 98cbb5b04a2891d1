// Converts Gyre's parameters to and from the tensors of Hugging Face's BERT, NEZHA and RoFormer (names as in
// transformers' modeling_bert.py, modeling_nezha.py and modeling_roformer.py) and of its causal models, and to those of
// llama.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/models/hugging_face/config.h"

namespace gyre {

// The tensors of an exported file: views of the parameters' values and, for RoFormer, the constant table
// "embed_positions" of its rotation, (positions, head width). Row m of the table is [sin(m theta_j), j = 0 .. | cos(m
// theta_j), j = 0 ..].
std::vector<NamedTensor> hugging_face_tensors(const Parameters& parameters, const EncoderOnlyConfig& config);

// The tensors of a causal model by the names and in the layout of llama.cpp's GGUF files: views of the parameters'
// values, or reordered copies. Throws as decoder_family_of().
std::vector<NamedTensor> llama_cpp_tensors(const Parameters& parameters, const EncoderOnlyConfig& config);

// The number of tensors that an import read, and the names of those that it ignored.
struct TensorReport {
  size_t read = 0;
  std::vector<std::string> initialized;     // parameters of the head that a bare encoder lacks, by Gyre's names
  std::vector<std::string> of_other_heads;  // ignored: they belong to heads that the model does not have
  std::vector<std::string> repeats;         // ignored: they are redundant
  std::vector<std::string> unlisted;        // ignored: the index of the shards does not list them
};

// Reads the parameters of a model with this config. Accepts older names (LayerNorm.gamma, .beta). Redundant tensors
// (the output's table, the constant positions of RoFormer and NEZHA) may be absent; if present, they must agree with
// the others. A NEZHA's names may begin with "bert". The names of a bare encoder may lack the prefix, and the head of a
// masked language model that it lacks keeps its values. Ignores the heads that the model does not have. Throws as
// load_tensors() (core/io/safetensors.h).
TensorReport read_hugging_face_weights(std::span<const SafetensorsFile> files, Parameters& parameters,
                                       const EncoderOnlyConfig& config);

// A linear layer of transformers' model: rows of a weight, in the order that it has them.
struct HuggingFaceModule {
  std::string name;  // "model.layers.0.self_attn.q_proj"
  Parameter* weight;
  std::vector<int64_t> rows;
};
// The linear layers inside the model (Parameter::matrix_rows), by their weights. Throws an Error if transformers has no
// equivalent of the model.
std::vector<HuggingFaceModule> hugging_face_modules(Parameters& parameters, const EncoderOnlyConfig& config);

// Whether transformers stores the weights of the linear layers transposed, (in, out).
bool stores_transposed(const EncoderOnlyConfig& config);

}  // namespace gyre
