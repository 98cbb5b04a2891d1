// Decoders as llama.cpp reads them from GGUF files: the keys and the tensors of its architectures llama (LLaMA,
// Mistral), qwen2, qwen3, gpt2 and gptneox.
#pragma once

#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/io/gguf.h"
#include "gyre/models/config/config.h"

namespace gyre {

// The keys of a model, from general.architecture to general.file_type. type: that of the matrices. longest: the number
// of tokens of the longest text; llama.cpp's llama has no window, so that a model with one reads at most as many
// tokens. Throws an Error of one line that lists what llama.cpp does not have.
std::vector<GgufKey> gguf_keys(const EncoderOnlyConfig& config, int64_t longest, GgufType type);

// The tensors. As in files of llama.cpp's converter, vectors and the table of positions are f32, and matrices whose
// rows do not consist of blocks of q8_0 are f16. Throws as gguf_keys().
std::vector<GgufTensor> gguf_tensors(const Parameters& parameters, const EncoderOnlyConfig& config, GgufType type);

}  // namespace gyre
