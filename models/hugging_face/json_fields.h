// Shared by the configurations of encoders and decoders in the format of Hugging Face.
#pragma once

#include <string>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/models/position/rope.h"

namespace gyre {

// Rejects sizes so large that their products could overflow. A visitor of fields.
inline constexpr auto kBound = [](const char* key, const auto& value) {
  using T = std::decay_t<decltype(value)>;
  if constexpr (std::is_same_v<T, int64_t>) {
    require(value <= kMaxDimension, "[config.", key, "] expected at most ", kMaxDimension, ", got ", value);
  }
};

// Renames the activation under `key`, if there is one, from Hugging Face's name to Gyre's, or back.
void rename_activation_from_theirs(Json& json, const char* key);
void rename_activation_to_theirs(Json& json, const char* key);

// The configuration without nulls. As in transformers, a null switch is false; other nulls stand for the default.
Json without_nulls(const Json& json);

// Throws unless the keys of `fixed` are absent from `json` or equal: Gyre supports no other values. Null is accepted
// too, except in place of true, because transformers takes it for false.
void require_fixed(const Json& json, const Json& fixed, const std::string& context);

// Lines "field: expected .., got .." for the fields that differ from `needed`.
std::string differences(const Json& config, const Json& needed);
// The lines of differences() as one line, with semicolons between them.
std::string on_one_line(const std::string& lines);

// The keys behind a message about a model, which names Gyre's: "; see num_attention_heads, hidden_size". Only keys that
// `json` has; empty without one.
std::string keys_behind(const Json& json, const std::string& message);

// The options of RoPE under their names in Gyre's config.json.
Json json_of(RopeOptions options);

}  // namespace gyre
