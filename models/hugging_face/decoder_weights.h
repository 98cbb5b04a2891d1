// Converts the parameters of causal models to and from the tensors of Hugging Face's LLaMA, Mistral, Qwen2, Qwen3,
// GPT-NeoX and GPT-2 (names as in transformers' modeling_llama.py, modeling_gpt_neox.py and modeling_gpt2.py).
//
// GPT-2 stores the weights of its layers transposed. GPT-NeoX stores queries, keys and values head by head. All rotate
// the pairs (i, i + dims/2) of RoPE; a model with interleaved pairs is written with the features of its queries and
// keys in that order.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gyre/models/hugging_face/weights.h"

namespace gyre {

// The tensors of an exported file: views of the parameters' values, or converted copies.
std::vector<NamedTensor> decoder_tensors(const Parameters& parameters, const EncoderOnlyConfig& config);

// Reads the parameters of a model with this config. The names of a bare model lack the prefix ("model."), and the
// output projection that it lacks keeps its values unless it is the embedding table. Ignores the constant tensors of
// older files (masks, frequencies); a repeated embedding table must agree. Throws as read_hugging_face_weights().
TensorReport read_decoder_weights(std::span<const SafetensorsFile> files, Parameters& parameters,
                                  const EncoderOnlyConfig& config);

}  // namespace gyre
