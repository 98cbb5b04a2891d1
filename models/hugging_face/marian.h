// Converts translation models to and from Hugging Face's MarianMTModel: its config.json, its tensors and its
// generation_config.json (names as in transformers' modeling_marian.py).
//
// The decoder of Marian begins with a vector of zeros, as which transformers has the embedding of the padding, the last
// piece of the vocabulary; that of Gyre begins with <s>. An export therefore adds the padding, and adds the embedding
// of <s> to the encoding of the decoder's first position, which no other piece can have. The import reads both forms.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/models/config/config.h"
#include "gyre/models/hugging_face/weights.h"

namespace gyre {

// The ids of the special pieces. pad begins translations there; it is the size of Gyre's vocabulary if the export adds
// it, and else the same as bos, which begins them here.
struct MarianIds {
  int unk, bos, eos, pad;  // unk: -1 if there is none
};

inline constexpr const char* kMarianArchitecture = "MarianMTModel";

// Whether a config.json is that of a translation model of this architecture.
bool is_marian(const Json& json);

// Reads a config.json, apart from the layout of the sinusoids; `context` begins the errors. Absent keys have
// transformers' defaults. Throws an Error for invalid and unsupported values.
EncoderDecoderConfig read_marian_config(const Json& json, const std::string& context);
// The ids of a config.json; unk: -1.
MarianIds read_marian_ids(const Json& json, const std::string& context);
// The config.json. Throws an Error that lists every field that MarianMTModel cannot represent, with its required value.
Json marian_config(const EncoderDecoderConfig& config, const MarianIds& ids);

// The generation_config.json, with which transformers translates as gyre translate does by default.
Json marian_generation_config(const EncoderDecoderConfig& config, const MarianIds& ids);

// Sets the layout of the sinusoids: that of the table in the files, or transformers' if they have none. Throws an Error
// if the table is none of the layouts.
void find_marian_positions(std::span<const SafetensorsFile> files, EncoderDecoderConfig& config);

// Reads the parameters of a model with this config. Tables that repeat the shared one may be absent; if present, they
// must agree with it. start: the id that begins a translation. Throws as load_tensors() (core/io/safetensors.h).
TensorReport read_marian_weights(std::span<const SafetensorsFile> files, Parameters& parameters,
                                 const EncoderDecoderConfig& config, int start);
// The tensors of an exported file: views of the parameters' values, and copies.
std::vector<NamedTensor> marian_tensors(const Parameters& parameters, const EncoderDecoderConfig& config,
                                        const MarianIds& ids);

}  // namespace gyre
