// Converts Gyre's model configurations to and from the config.json of Hugging Face's BERT, NEZHA and RoFormer
// (transformers' BertConfig, NezhaConfig and RoFormerConfig).
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/models/config/config.h"

namespace gyre {

enum class HuggingFaceFamily : uint8_t { bert, nezha, roformer };

// "bert", "nezha" or "roformer": the prefix of tensor names, and "model_type" in config.json.
std::string_view family_name(HuggingFaceFamily family);
// The family of a config, by its position encoding: rope is RoFormer, nezha is NEZHA, any other is BERT.
HuggingFaceFamily family_of(const EncoderOnlyConfig& encoder);
// The head of the family's sequence classifiers: NEZHA has that of BERT.
ClassifierHead head_of(const EncoderOnlyConfig& encoder);

// The config of a language model, of a text classifier or of a translation model.
using HuggingFaceConfig = std::variant<EncoderOnlyConfig, ClassifierConfig, EncoderDecoderConfig>;

// Reads the config.json of the classes ForMaskedLM, ForPreTraining (BERT, NEZHA), ForSequenceClassification, and Model,
// the bare encoder, which is read as a masked language model. Absent keys have transformers' defaults. A BERT with
// "use_relative_position" is a NEZHA, which implementations before that of transformers write so. Those of causal
// models and of MarianMTModel are read as in decoder_config.h and marian.h. Throws an Error with the file and the key
// for any other architecture, and for invalid or unsupported values.
HuggingFaceConfig read_hugging_face_config(const Path& file);

// LABEL_0, LABEL_1 and so on: the names that transformers gives to classes without names.
std::vector<std::string> default_class_names(int64_t classes);

// The names of the classes in "id2label" of the config.json of a classifier with this number of outputs; the default
// for a class without a usable name (one that is a single line, without tabs, and different from the others).
// Empty for a regression, whose number of outputs is 1.
std::vector<std::string> read_class_names(const Path& file, int64_t classes);

// The config.json of a model. Throws an Error that lists every field that Hugging Face's model cannot represent, with
// its required value. Fields that only training reads are omitted: activation_dropout, and the dropout of RoFormer's
// classifier. pad: the vocabulary's padding id; negative: none.
Json hugging_face_config(const EncoderOnlyConfig& config, int pad);
// classes: the names of the classes; unless there are as many as the model has, LABEL_0, LABEL_1 and so on.
Json hugging_face_config(const ClassifierConfig& config, int pad, const std::vector<std::string>& classes = {});

}  // namespace gyre
