// Computes the attention weights of a trained model over a text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/file.h"
#include "gyre/core/tensor.h"
#include "tools/options/bos_choice.h"

namespace gyre {

// The attention to show of a translation model; other models have only self-attention.
enum class AttentionPart : uint8_t { encoder, decoder, cross };

template <>
inline constexpr std::pair<AttentionPart, std::string_view> kEnumNames<AttentionPart>[] = {
    {AttentionPart::encoder, "encoder"}, {AttentionPart::decoder, "decoder"}, {AttentionPart::cross, "cross"}};

struct AttentionMapOptions {
  std::string text;
  std::string target;                 // target of a translation model; empty: its own translation
  std::optional<AttentionPart> part;  // part of a translation model; none: cross
  BosChoice bos;                      // choice for a causal language model
  int layer = 0;
  int max_length = 0;  // maximum tokens of each text, <s> and </s> included; 0: no limit
};

struct AttentionMaps {
  std::string name;                        // "self-attention", "cross-attention"
  std::vector<std::string> queries, keys;  // the pieces of the tokens
  Tensor weights;                          // (heads, queries, keys)
};

// model, checkpoint: as for find_model_file(). Throws UsageError for a layer that does not exist, and for a part or a
// target if the model is not a translation model, and for a choice of BOS if it is not a causal language model.
AttentionMaps attention_maps(const Path& model, const std::string& checkpoint, const AttentionMapOptions& options);

}  // namespace gyre
