// generation_config.json of Hugging Face: how a model's publisher wants its texts to be continued.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"

namespace gyre {

constexpr const char* kGenerationConfigFile = "generation_config.json";

// The keys that `gyre generate` knows, if the file has them; others have no effect.
struct GenerationConfig {
  std::vector<int32_t> eos;  // all ids that end a text
  std::optional<bool> do_sample;
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<int64_t> top_k, max_new_tokens;
};

// Parses the text of the file. Throws an Error for a key of another type; its message begins with `context`.
GenerationConfig parse_generation_config(std::string_view text, const std::string& context);

// The file for a model that has only ids to tell; a negative pad: none.
Json generation_config_of(int32_t bos, int32_t eos, int32_t pad);

}  // namespace gyre
