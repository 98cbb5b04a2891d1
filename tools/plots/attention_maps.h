// The weights of attention over a text, by a trained model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/tensor.h"
#include "models/enum_names.h"

namespace gyre {

// Of a translation model; others have one kind of self-attention.
enum class AttentionPart : uint8_t { encoder, decoder, cross };

template <>
inline constexpr std::pair<AttentionPart, std::string_view> kEnumNames<AttentionPart>[] = {
    {AttentionPart::encoder, "encoder"}, {AttentionPart::decoder, "decoder"}, {AttentionPart::cross, "cross"}};

struct AttentionQuestion {
  std::string text;
  std::string target;                 // of a translation model; empty: its own translation
  std::optional<AttentionPart> part;  // of a translation model; none: cross
  int layer = 0;
  int max_length = 0;  // tokens of each text, <s> and </s> included; 0: all
};

struct AttentionMaps {
  std::string name;                        // "self-attention", "cross-attention"
  std::vector<std::string> queries, keys;  // the pieces of the tokens
  Tensor weights;                          // (heads, queries, keys)
};

// model, checkpoint: as find_model_file() takes them. Throws UsageError for a layer that is not there, and for a part
// or a target where the model is none of translation.
AttentionMaps attention_maps(const Path& model, const std::string& checkpoint, const AttentionQuestion& question);

}  // namespace gyre
