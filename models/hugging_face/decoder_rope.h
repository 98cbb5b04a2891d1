// The rotary position encoding of a decoder in the format of Hugging Face.
#pragma once

#include <string>

#include "gyre/core/io/json.h"
#include "gyre/models/config/config.h"
#include "gyre/models/hugging_face/decoder_config.h"

namespace gyre {

// Reads "rope_parameters", or the older "rope_scaling" with "rope_theta" (GPT-NeoX: "rotary_emb_base"), into a config
// whose other fields are set. Throws for angles that Gyre does not compute. Messages begin with `context`.
void read_decoder_rope(const Json& json, DecoderFamily family, EncoderOnlyConfig& config, const std::string& context);

void write_decoder_rope(const EncoderOnlyConfig& config, DecoderFamily family, Json& json);

// Lines "field: expected .., got .." for the options that the family cannot represent.
std::string decoder_rope_differences(const EncoderOnlyConfig& config, DecoderFamily family);

}  // namespace gyre
