#include "gyre/models/hugging_face/config.h"

#include <algorithm>

#include "gyre/core/io/json.h"
#include "gyre/models/config/config_json.h"
#include "gyre/models/hugging_face/decoder_config.h"
#include "gyre/models/hugging_face/json_fields.h"
#include "gyre/models/hugging_face/marian.h"
#include "gyre/models/position/nezha.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/position/rope.h"

namespace gyre {
namespace {

constexpr const char* kActivation = "hidden_act";

// The fields that Gyre and Hugging Face share, by Hugging Face's names.
constexpr auto kSharedKeys = [](auto& field, auto& c) {
  field("vocab_size", c.vocab_size);
  field("hidden_size", c.dim);
  field("num_hidden_layers", c.layers);
  field("num_attention_heads", c.heads);
  field("intermediate_size", c.ffn);
  field(kActivation, c.activation);
  field("hidden_dropout_prob", c.dropout);
  field("attention_probs_dropout_prob", c.attention_dropout);
  field("max_position_embeddings", c.position.template get<PositionTableOptions>().max_positions);
  field("type_vocab_size", c.token_types);
  field("initializer_range", c.initial_deviation);
  field("layer_norm_eps", c.layer_norm_epsilon);
};

// The fields of RoFormer.
constexpr auto kRoformerKeys = [](auto& field, auto& c) {
  field("embedding_size", c.embedding_dim);
  field("rotary_value", c.position.template get<RopeOptions>().rotate_values);
};

constexpr const char* kClip = "max_relative_position";  // name in NEZHA's configuration

// Keys for which Gyre supports a single value.
Json fixed_keys(HuggingFaceFamily family, bool is_classifier) {
  Json keys{{"is_decoder", false}, {"add_cross_attention", false}};
  if (!is_classifier) keys["tie_word_embeddings"] = true;
  if (family == HuggingFaceFamily::bert) keys["position_embedding_type"] = "absolute";
  if (family == HuggingFaceFamily::nezha) keys["use_relative_position"] = true;
  return keys;
}

struct EncoderArchitecture {
  const char* name;
  HuggingFaceFamily family;
  bool is_classifier;
};
// For a family and kind of model, the first entry is the one that an export writes.
constexpr EncoderArchitecture kEncoderArchitectures[] = {
    {"BertForMaskedLM", HuggingFaceFamily::bert, false},
    {"BertForPreTraining", HuggingFaceFamily::bert, false},
    {"BertModel", HuggingFaceFamily::bert, false},
    {"BertForSequenceClassification", HuggingFaceFamily::bert, true},
    {"NezhaForMaskedLM", HuggingFaceFamily::nezha, false},
    {"NeZhaForMaskedLM", HuggingFaceFamily::nezha, false},  // the name in the published nezha-cn-base
    {"NezhaForPreTraining", HuggingFaceFamily::nezha, false},
    {"NezhaModel", HuggingFaceFamily::nezha, false},
    {"NezhaForSequenceClassification", HuggingFaceFamily::nezha, true},
    {"RoFormerForMaskedLM", HuggingFaceFamily::roformer, false},
    {"RoFormerModel", HuggingFaceFamily::roformer, false},
    {"RoFormerForSequenceClassification", HuggingFaceFamily::roformer, true},
};

EncoderArchitecture architecture_of(const Json& json, const std::string& context) {
  std::string names;
  for (EncoderArchitecture a : kEncoderArchitectures) {
    if (json.contains("architectures") && json["architectures"] == Json::array({a.name})) {
      const Json type = json.value("model_type", Json(family_name(a.family)));
      require(type == family_name(a.family), context, "model_type: expected \"", family_name(a.family), "\" as the ",
              "architecture is ", a.name, ", got ", cut_for_message(type.dump()));
      const bool relative = json.value("use_relative_position", Json()) == true;
      if (relative && a.family == HuggingFaceFamily::bert) a.family = HuggingFaceFamily::nezha;
      return a;
    }
    names += (names.empty() ? "" : ", ") + std::string(a.name);
  }
  for (const std::string& name : decoder_architectures()) names += ", " + name;
  throw Error(context, "architectures: expected one of ", names, ", ", kMarianArchitecture, ", got ",
              cut_for_message(json.value("architectures", Json()).dump()));
}

void require_supported_values(const Json& json, const EncoderArchitecture& architecture, const std::string& context) {
  Json keys = fixed_keys(architecture.family, architecture.is_classifier);
  if (architecture.family == HuggingFaceFamily::roformer) {
    keys.update({{"norm_type", "layer_norm"}, {"use_bias", true}});  // RoFormerV2 differs
  }
  require_fixed(json, keys, context);
}

// The defaults of transformers.
EncoderOnlyConfig default_config(HuggingFaceFamily family) {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset(concat(family_name(family), "-base"));
  config.vocab_size = family == HuggingFaceFamily::bert ? 30522 : family == HuggingFaceFamily::nezha ? 21128 : 50000;
  return config;
}

// RoFormer's options of RoPE are the defaults. Those that an encoder does not read, or only with scaling, may differ.
std::string differences_from_roformer(RopeOptions options, int64_t head_width) {
  const RopeOptions needed;
  if (options.rotary_dims == head_width) options.rotary_dims = needed.rotary_dims;
  options.rotate_cross = needed.rotate_cross;
  options.rotate_values = needed.rotate_values;
  options.scaling_factor = needed.scaling_factor;
  options.original_length = needed.original_length;
  return differences(json_of(options), json_of(needed));
}

// Such lines for the fields of an encoder that Hugging Face's models cannot represent.
std::string unsupported_fields(const EncoderOnlyConfig& c) {
  Json needed{{"norm", "post"},   {"causal", false},    {"embedding_norm", true}, {"scale_embedding", false},
              {"qk_norm", false}, {"gated_ffn", false}, {"norm_type", "layer"},   {"biases", "all"}};
  if (c.key_heads() != c.heads) needed["kv_heads"] = 0;
  if (c.query_dim() != c.dim) needed["head_dim"] = 0;
  if (c.position.encoding != "rope" && c.embedding_width() != c.dim) needed["embedding_dim"] = 0;
  std::string lines = differences(c.to_json(), needed);
  if (c.token_types == 0) lines += "\n  token_types: expected at least 1, got 0";
  if (c.attention.kind != AttentionKind::softmax)
    lines += concat("\n  attention: expected softmax, got ", enum_name(c.attention.kind));
  const std::string& encoding = c.position.encoding;
  if (encoding == "rope") {
    lines += differences_from_roformer(c.position.get<RopeOptions>(), c.dim / c.heads);
  } else if (encoding != "learned" && encoding != "nezha") {
    lines += "\n  position: expected learned (BERT), nezha (NEZHA) or rope (RoFormer), got " + encoding;
  }
  return lines;
}

void require_supported(const std::string& lines) {
  require(lines.empty(), "[hugging face] this model is neither a BERT nor a NEZHA nor a RoFormer:", lines);
}

// The keys that language models and classifiers share.
Json shared_json(const EncoderOnlyConfig& encoder, bool is_classifier, int pad) {
  const HuggingFaceFamily family = family_of(encoder);
  const auto* architecture =
      std::find_if(std::begin(kEncoderArchitectures), std::end(kEncoderArchitectures),
                   [&](const auto& a) { return a.family == family && a.is_classifier == is_classifier; });
  ConfigWriter writer;
  writer.json["architectures"] = {architecture->name};
  writer.json["model_type"] = family_name(family);
  kSharedKeys(writer, encoder);
  if (family == HuggingFaceFamily::nezha) writer(kClip, encoder.position.get<NezhaOptions>().clip);
  if (family == HuggingFaceFamily::roformer) {
    EncoderOnlyConfig complete = encoder;
    complete.embedding_dim = encoder.embedding_width();
    kRoformerKeys(writer, complete);
  }
  rename_activation_to_theirs(writer.json, kActivation);
  writer.json.update(fixed_keys(family, is_classifier));
  writer.json["pad_token_id"] = pad < 0 ? Json() : Json(pad);
  writer.json["dtype"] = "float32";
  return writer.json;
}

// The number of classes is that of the names in "id2label"; without that key it is "num_labels", by default 2.
ClassifierConfig classifier_config(const Json& json, const EncoderOnlyConfig& encoder) {
  const HuggingFaceFamily family = family_of(encoder);
  ClassifierConfig config;
  config.encoder = encoder;
  config.head = head_of(encoder);
  const bool own_default = family == HuggingFaceFamily::nezha && !json.contains("classifier_dropout");
  if (!own_default) config.dropout = encoder.dropout;
  const Json names = json.value("id2label", Json());
  if (names.is_object()) config.classes = int64_t(names.size());
  ConfigReader reader(json, "config");
  if (!names.is_object()) reader("num_labels", config.classes);
  kBound("num_labels", config.classes);
  // Other problems have other losses and other probabilities.
  const std::string problem = config.classes == 1 ? "regression" : "single_label_classification";
  const Json given = json.value("problem_type", Json());
  require(given.is_null() || given == problem, "problem_type: expected \"", problem, "\" for num_labels ",
          config.classes, ", got ", cut_for_message(given.dump()));
  if (!json.value("classifier_dropout", Json()).is_null()) reader("classifier_dropout", config.dropout);
  config.validate();
  return config;
}

Json read_config(const Path& file, const std::string& context) {
  constexpr int kDeepest = 20;
  Json json = parse_strict_json(read_file(file), kDeepest, context, "the configuration");
  require(json.is_object(), context, "expected a JSON object");
  return json;
}

}  // namespace

std::string_view family_name(HuggingFaceFamily family) {
  switch (family) {
    case HuggingFaceFamily::bert:
      return "bert";
    case HuggingFaceFamily::nezha:
      return "nezha";
    case HuggingFaceFamily::roformer:
      break;
  }
  return "roformer";
}

HuggingFaceFamily family_of(const EncoderOnlyConfig& encoder) {
  if (encoder.position.encoding == "rope") return HuggingFaceFamily::roformer;
  return encoder.position.encoding == "nezha" ? HuggingFaceFamily::nezha : HuggingFaceFamily::bert;
}

ClassifierHead head_of(const EncoderOnlyConfig& encoder) {
  return family_of(encoder) == HuggingFaceFamily::roformer ? ClassifierHead::roformer : ClassifierHead::bert;
}

std::vector<std::string> default_class_names(int64_t classes) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < classes; ++i) names.push_back("LABEL_" + std::to_string(i));
  return names;
}

std::vector<std::string> read_class_names(const Path& file, int64_t classes) {
  if (classes == 1) return {};
  const Json names = read_config(file, concat("[hugging face] ", file.string(), ": ")).value("id2label", Json());
  const std::vector<std::string> defaults = default_class_names(classes);
  std::vector<std::string> result(static_cast<size_t>(classes));
  const auto is_free = [&](const std::string& name) { return std::ranges::find(result, name) == result.end(); };
  for (int64_t i = 0; i < classes; ++i) {
    const Json name = names.is_object() ? names.value(std::to_string(i), Json()) : Json();
    const std::string text = name.is_string() ? name.get<std::string>() : "";
    if (!text.empty() && text.find_first_of("\t\r\n") == std::string::npos && is_free(text)) result[size_t(i)] = text;
  }
  for (size_t i = 0; i < result.size(); ++i)
    if (result[i].empty()) result[i] = is_free(defaults[i]) ? defaults[i] : *std::ranges::find_if(defaults, is_free);
  return result;
}

HuggingFaceConfig read_hugging_face_config(const Path& file) {
  const std::string context = concat("[hugging face] ", file.string(), ": ");
  Json json = read_config(file, context);
  if (const auto family = decoder_family_of(json)) return read_decoder_config(json, *family, context);
  if (is_marian(json)) return read_marian_config(json, context);
  rename_activation_from_theirs(json, kActivation);
  const EncoderArchitecture architecture = architecture_of(json, context);
  require_supported_values(json, architecture, context);
  EncoderOnlyConfig encoder = default_config(architecture.family);
  try {
    ConfigReader reader(json, "config");
    kSharedKeys(reader, encoder);
    kSharedKeys(kBound, encoder);
    if (architecture.family == HuggingFaceFamily::nezha) {
      int64_t& clip = encoder.position.get<NezhaOptions>().clip;
      reader(kClip, clip);
      kBound(kClip, clip);
    }
    if (architecture.family == HuggingFaceFamily::roformer) {
      const Json given = without_nulls(json);
      ConfigReader roformer(given, "config");
      kRoformerKeys(roformer, encoder);
      kRoformerKeys(kBound, encoder);
      if (encoder.embedding_dim == encoder.dim) encoder.embedding_dim = 0;
    }
    encoder.validate();
    if (architecture.is_classifier) return classifier_config(json, encoder);
  } catch (const Error& error) {
    throw Error(context, error.what(), keys_behind(json, error.what()));
  }
  return encoder;
}

Json hugging_face_config(const EncoderOnlyConfig& config, int pad) {
  if (config.causal) return decoder_config(config);
  require_supported(
      unsupported_fields(config) +
      differences(config.to_json(), {{"head_transform", true}, {"output_bias", true}, {"tied_output", true}}));
  return shared_json(config, false, pad);
}

Json hugging_face_config(const ClassifierConfig& config, int pad, const std::vector<std::string>& classes) {
  require_supported(unsupported_fields(config.encoder) +
                    differences(config.to_json(), {{"classifier_head", enum_name(head_of(config.encoder))}}));
  Json json = shared_json(config.encoder, true, pad);
  if (config.head == ClassifierHead::bert) json["classifier_dropout"] = config.dropout;
  const std::vector<std::string> names =
      classes.size() == size_t(config.classes) ? classes : default_class_names(config.classes);
  for (int64_t i = 0; i < config.classes; ++i) {
    json["id2label"][std::to_string(i)] = names[size_t(i)];
    json["label2id"][names[size_t(i)]] = i;
  }
  return json;
}

}  // namespace gyre
