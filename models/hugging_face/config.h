// Gyre's configurations as config.json of Hugging Face's BERT and RoFormer (transformers' BertConfig, RoFormerConfig)
// and back, by one table of keys.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <variant>

#include "core/file.h"
#include "models/config.h"

namespace gyre {

enum class HuggingFaceFamily : uint8_t { bert, roformer };

// The first part of the names of its tensors, and config.json's "model_type".
std::string_view family_name(HuggingFaceFamily family);
// By its positions: BERT has learned ones, RoFormer turns queries and keys.
HuggingFaceFamily family_of(const EncoderOnlyConfig& encoder);

// A masked language model, or a classifier of texts.
using HuggingFaceConfig = std::variant<EncoderOnlyConfig, ClassifierConfig>;

// Of BertForMaskedLM, BertForPreTraining, BertForSequenceClassification and RoFormer's two. Absent keys have
// transformers' defaults. An Error names the file and the key of what is another architecture, wrong, or nothing that
// Gyre has.
HuggingFaceConfig read_hugging_face_config(const Path& file);

// An Error lists every field that has no place there, with what it would have to be. Left out is what only training
// reads: activation_dropout, the dropout of RoFormer's classifier. pad: the vocabulary's id for padding; below 0: none.
nlohmann::ordered_json hugging_face_config(const EncoderOnlyConfig& config, int pad);
nlohmann::ordered_json hugging_face_config(const ClassifierConfig& config, int pad);

}  // namespace gyre
