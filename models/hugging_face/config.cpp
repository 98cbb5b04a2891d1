#include "models/hugging_face/config.h"

#include <algorithm>

#include "core/sizes.h"
#include "core/strict_json.h"
#include "models/config_json.h"

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;

// The fields that both sides have, under Hugging Face's names.
constexpr auto kSharedKeys = [](auto& field, auto& c) {
  field("vocab_size", c.vocab_size);
  field("hidden_size", c.dim);
  field("num_hidden_layers", c.layers);
  field("num_attention_heads", c.heads);
  field("intermediate_size", c.ffn);
  field("hidden_act", c.activation);
  field("hidden_dropout_prob", c.dropout);
  field("attention_probs_dropout_prob", c.attention_dropout);
  field("max_position_embeddings", c.position.max_positions);
  field("type_vocab_size", c.token_types);
  field("initializer_range", c.initial_deviation);
  field("layer_norm_eps", c.layer_norm_epsilon);
};

// Keys whose other values Gyre does not have.
Json fixed_keys(HuggingFaceFamily family, bool is_classifier) {
  Json keys{{"is_decoder", false}, {"add_cross_attention", false}};
  if (!is_classifier) keys["tie_word_embeddings"] = true;
  if (family == HuggingFaceFamily::bert) keys["position_embedding_type"] = "absolute";
  if (family == HuggingFaceFamily::roformer) keys["rotary_value"] = false;
  return keys;
}

struct Architecture {
  const char* name;
  HuggingFaceFamily family;
  bool is_classifier;
};
// The first of its family and kind is the one that is written.
constexpr Architecture kArchitectures[] = {
    {"BertForMaskedLM", HuggingFaceFamily::bert, false},
    {"BertForPreTraining", HuggingFaceFamily::bert, false},
    {"BertForSequenceClassification", HuggingFaceFamily::bert, true},
    {"RoFormerForMaskedLM", HuggingFaceFamily::roformer, false},
    {"RoFormerForSequenceClassification", HuggingFaceFamily::roformer, true},
};

const Architecture& architecture_of(const Json& json, const std::string& context) {
  std::string names;
  for (const Architecture& a : kArchitectures) {
    if (json.contains("architectures") && json["architectures"] == Json::array({a.name})) {
      const Json type = json.value("model_type", Json(family_name(a.family)));
      require(type == family_name(a.family), context, "model_type: expected \"", family_name(a.family), "\" as the ",
              "architecture is ", a.name, ", got ", cut_for_message(type.dump()));
      return a;
    }
    names += (names.empty() ? "" : ", ") + std::string(a.name);
  }
  throw Error(context, "architectures: expected one of ", names, ", got ",
              cut_for_message(json.value("architectures", Json()).dump()));
}

void require_fixed(const Json& json, const Architecture& architecture, const std::string& context) {
  Json keys = fixed_keys(architecture.family, architecture.is_classifier);
  if (architecture.family == HuggingFaceFamily::roformer) {
    keys["embedding_size"] = json.value("hidden_size", Json(EncoderOnlyConfig::preset("roformer-base").dim));
  }
  for (const auto& [key, expected] : keys.items()) {
    const auto got = json.find(key);
    require(got == json.end() || got->is_null() || *got == expected, context, key, ": expected ", expected.dump(),
            ", which is all that Gyre has, got ", got == json.end() ? "" : cut_for_message(got->dump()));
  }
}

// Sizes whose product could overflow are nobody's.
constexpr auto kBound = [](const char* key, const auto& value) {
  using T = std::decay_t<decltype(value)>;
  if constexpr (std::is_same_v<T, int64_t>) {
    require(value <= kLargestSize, "[config.", key, "] expected at most ", kLargestSize, ", got ", value);
  }
};

// transformers' own defaults.
EncoderOnlyConfig default_config(HuggingFaceFamily family) {
  const bool bert = family == HuggingFaceFamily::bert;
  EncoderOnlyConfig config = EncoderOnlyConfig::preset(bert ? "bert-base" : "roformer-base");
  config.vocab_size = bert ? 30522 : 50000;
  return config;
}

// Lines "field: expected .., got .." for what differs from `needed`.
std::string differences(const Json& config, const Json& needed) {
  std::string lines;
  for (const auto& [key, value] : needed.items()) {
    if (config.at(key) == value) continue;
    lines += concat("\n  ", key, ": expected ", value.dump(), ", got ", config.at(key).dump());
  }
  return lines;
}

// The same for what of an encoder has no place there.
std::string without_place(const EncoderOnlyConfig& c) {
  std::string lines = differences(
      c.to_json(), {{"norm", "post"}, {"causal", false}, {"embedding_norm", true}, {"scale_embedding", false}});
  if (c.token_types == 0) lines += "\n  token_types: expected at least 1, got 0";
  if (c.attention.kind != AttentionKind::softmax)
    lines += concat("\n  attention: expected softmax, got ", enum_name(c.attention.kind));
  const PositionConfig& p = c.position;
  if (p.encoding == "rope") {
    PositionConfig whole = p;
    if (whole.rotary_dims == c.dim / c.heads) whole.rotary_dims = 0;
    ConfigWriter writer;
    kPositionFields(writer, whole);
    lines += differences(writer.json, {{"rope_base", 10000.0},
                                       {"rope_pairs", "interleaved"},
                                       {"rotary_dims", 0},
                                       {"rope_learnable", false},
                                       {"rope_step", 1.0},
                                       {"rope_scaling", "none"}});
  } else if (p.encoding != "learned") {
    lines += "\n  position: expected rope (RoFormer) or learned (BERT), got " + p.encoding;
  }
  return lines;
}

void require_place(const std::string& lines) {
  require(lines.empty(), "[hugging face] this model has no form there:", lines);
}

// What both kinds of model have.
Json shared_json(const EncoderOnlyConfig& encoder, bool is_classifier, int pad) {
  const HuggingFaceFamily family = family_of(encoder);
  const auto* architecture = std::find_if(std::begin(kArchitectures), std::end(kArchitectures), [&](const auto& a) {
    return a.family == family && a.is_classifier == is_classifier;
  });
  ConfigWriter writer;
  writer.json["architectures"] = {architecture->name};
  writer.json["model_type"] = family_name(family);
  kSharedKeys(writer, encoder);
  if (family == HuggingFaceFamily::roformer) writer.json["embedding_size"] = encoder.dim;
  writer.json.update(fixed_keys(family, is_classifier));
  writer.json["pad_token_id"] = pad < 0 ? Json() : Json(pad);
  writer.json["dtype"] = "float32";
  return writer.json;
}

// "id2label" has a name for each class; without it there are "num_labels", by default 2.
ClassifierConfig classifier_config(const Json& json, const EncoderOnlyConfig& encoder) {
  const HuggingFaceFamily family = family_of(encoder);
  ClassifierConfig config;
  config.encoder = encoder;
  config.head = family == HuggingFaceFamily::bert ? ClassifierHead::bert : ClassifierHead::roformer;
  config.dropout = encoder.dropout;
  const Json names = json.value("id2label", Json());
  if (names.is_object()) config.classes = int64_t(names.size());
  ConfigReader reader(json, "config");
  if (!names.is_object()) reader("num_labels", config.classes);
  kBound("num_labels", config.classes);
  if (!json.value("classifier_dropout", Json()).is_null()) reader("classifier_dropout", config.dropout);
  config.validate();
  return config;
}

}  // namespace

std::string_view family_name(HuggingFaceFamily family) {
  return family == HuggingFaceFamily::bert ? "bert" : "roformer";
}

HuggingFaceFamily family_of(const EncoderOnlyConfig& encoder) {
  return encoder.position.encoding == "rope" ? HuggingFaceFamily::roformer : HuggingFaceFamily::bert;
}

HuggingFaceConfig read_hugging_face_config(const Path& file) {
  constexpr int kDeepest = 20;
  const std::string context = concat("[hugging face] ", file.string(), ": ");
  const Json json = parse_strict_json(read_file(file), kDeepest, context, "the configuration");
  require(json.is_object(), context, "expected a JSON object");
  const Architecture& architecture = architecture_of(json, context);
  require_fixed(json, architecture, context);
  EncoderOnlyConfig encoder = default_config(architecture.family);
  try {
    ConfigReader reader(json, "config");
    kSharedKeys(reader, encoder);
    kSharedKeys(kBound, encoder);
    encoder.validate();
    if (architecture.is_classifier) return classifier_config(json, encoder);
  } catch (const Error& error) {
    throw Error(context, error.what());
  }
  return encoder;
}

Json hugging_face_config(const EncoderOnlyConfig& config, int pad) {
  require_place(without_place(config) +
                differences(config.to_json(), {{"head_transform", true}, {"output_bias", true}}));
  return shared_json(config, false, pad);
}

Json hugging_face_config(const ClassifierConfig& config, int pad) {
  require_place(without_place(config.encoder) +
                differences(config.to_json(), {{"classifier_head", family_name(family_of(config.encoder))}}));
  Json json = shared_json(config.encoder, true, pad);
  if (config.head == ClassifierHead::bert) json["classifier_dropout"] = config.dropout;
  for (int64_t i = 0; i < config.classes; ++i) {
    const std::string number = std::to_string(i);
    json["id2label"][number] = "LABEL_" + number;
    json["label2id"]["LABEL_" + number] = i;
  }
  return json;
}

}  // namespace gyre
