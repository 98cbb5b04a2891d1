// Converts configurations of causal models to and from the config.json of Hugging Face's LlamaForCausalLM,
// MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM, GPTNeoXForCausalLM and GPT2LMHeadModel. Those of their bare
// models, such as LlamaModel, are read too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/models/config/config.h"

namespace gyre {

// mistral: a LLaMA with a window. qwen2: one with biases of queries, keys and values. qwen3: one with norms of queries
// and keys.
enum class DecoderFamily : uint8_t { llama, mistral, qwen2, qwen3, gpt_neox, gpt2 };

// The names of the classes.
std::vector<std::string> decoder_architectures();
// The family whose class is named by "architectures"; nothing if it is another class.
std::optional<DecoderFamily> decoder_family_of(const Json& json);
// The family of a causal model. Throws an Error that lists every field that the most similar family cannot represent.
DecoderFamily decoder_family_of(const EncoderOnlyConfig& config);

// Lines "field: expected .., got .." for the fields of a causal model that the most similar family cannot represent,
// each after a line break and two spaces; empty if there is none.
std::string decoder_differences(const EncoderOnlyConfig& config);

// Whether the family that is most similar to the model has queries, keys and values in one linear layer, as GPT-2 does.
bool has_fused_projections(const EncoderOnlyConfig& config);

// Reads a config.json; `context` begins the errors. Absent keys have transformers' defaults. Throws an Error for
// invalid and unsupported values.
EncoderOnlyConfig read_decoder_config(const Json& json, DecoderFamily family, const std::string& context);

// The config.json of a causal model. Throws as decoder_family_of().
Json decoder_config(const EncoderOnlyConfig& config);

}  // namespace gyre
