#include "models/config.h"

#include <cmath>
#include <span>

#include "core/counted.h"
#include "core/sizes.h"
#include "models/config_json.h"

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;

// The fields of a config under their names in JSON.
constexpr auto kSharedFields = [](auto& field, auto& c) {
  field("vocab_size", c.vocab_size);
  field("dim", c.dim);
  field("ffn", c.ffn);
  field("heads", c.heads);
  field("norm", c.norm);
  field("final_norm", c.final_norm);
  field("activation", c.activation);
  field("dropout", c.dropout);
  field("attention_dropout", c.attention_dropout);
  field("activation_dropout", c.activation_dropout);
  field("layer_norm_epsilon", c.layer_norm_epsilon);
  field("initial_deviation", c.initial_deviation);
  field("position", c.position);
  field("attention", c.attention);
};

constexpr auto kEncoderDecoderFields = [](auto& field, auto& c) {
  kSharedFields(field, c);
  field("encoder_layers", c.encoder_layers);
  field("decoder_layers", c.decoder_layers);
  field("tied_embeddings", c.tied_embeddings);
  field("tied_output", c.tied_output);
  field("scale_embedding", c.scale_embedding);
};

constexpr auto kEncoderOnlyFields = [](auto& field, auto& c) {
  kSharedFields(field, c);
  field("layers", c.layers);
  field("causal", c.causal);
  field("token_types", c.token_types);
  field("embedding_norm", c.embedding_norm);
  field("scale_embedding", c.scale_embedding);
  field("head_transform", c.head_transform);
  field("output_bias", c.output_bias);
};

constexpr auto kClassifierFields = [](auto& field, auto& c) {
  kEncoderOnlyFields(field, c.encoder);
  field("classifier_head", c.head);
  field("classes", c.classes);
  field("classifier_dropout", c.dropout);
};

template <class Fields, class Config>
Json write(const Fields& fields, const Config& config) {
  ConfigWriter writer;
  writer("model", Config::kModel);
  fields(writer, config);
  return writer.json;
}

template <class Config, class Fields>
Config read(const Fields& fields, const Json& json) {
  Config config;
  ConfigReader reader(json, "config");
  std::string model = Config::kModel;
  reader("model", model);
  require(model == Config::kModel, "[config] expected a model of kind ", Config::kModel, ", got ", model);
  fields(reader, config);
  reader.refuse_unknown();
  config.validate();
  return config;
}

struct Preset {
  const char* name;
  int64_t layers, dim, ffn, heads;
  double dropout;
};
// Vaswani et al. 2017, table 3 (base, big); tiny is for trials on a laptop.
constexpr Preset kEncoderDecoders[] = {{"transformer-tiny", 4, 128, 256, 4, 0.1},
                                       {"transformer-base", 6, 512, 2048, 8, 0.1},
                                       {"transformer-big", 6, 1024, 4096, 16, 0.3}};
// Turc et al. 2019 (mini, small) and Devlin et al. 2019 (base) have the sizes of BERT.
constexpr Preset kEncodersOnly[] = {
    {"mlm-small", 4, 256, 1024, 4, 0.1},      {"lm-tiny", 4, 256, 1024, 4, 0.1},
    {"bert-mini", 4, 256, 1024, 4, 0.1},      {"bert-small", 4, 512, 2048, 8, 0.1},
    {"bert-base", 12, 768, 3072, 12, 0.1},    {"roformer-mini", 4, 256, 1024, 4, 0.1},
    {"roformer-small", 4, 512, 2048, 8, 0.1}, {"roformer-base", 12, 768, 3072, 12, 0.1}};

// What BERT's checkpoints have beside their sizes, and RoFormer's but for the positions (Hugging Face's defaults).
void make_bert(EncoderOnlyConfig& c) {
  c.norm = NormPlacement::post;
  c.attention_dropout = 0.1;
  c.layer_norm_epsilon = 1e-12;
  c.initial_deviation = 0.02;
  c.token_types = 2;
  c.embedding_norm = c.output_bias = true;
}

void make_causal(EncoderOnlyConfig& c) {
  c.norm = NormPlacement::pre;
  c.causal = true;
  c.head_transform = false;
}

std::vector<std::string> names_of(std::span<const Preset> presets) {
  std::vector<std::string> names;
  for (const Preset& p : presets) names.emplace_back(p.name);
  return names;
}

// Sets everything but the numbers of layers, which it returns.
int64_t apply(std::span<const Preset> presets, const std::string& name, ModelConfig& config) {
  std::string names;
  for (const Preset& p : presets) {
    if (name == p.name) {
      config.dim = p.dim;
      config.ffn = p.ffn;
      config.heads = p.heads;
      config.dropout = p.dropout;
      return p.layers;
    }
    names += (names.empty() ? "" : ", ") + std::string(p.name);
  }
  throw Error("[preset] expected one of ", names, ", got \"", name, "\"");
}

void require_positive(const char* name, int64_t value) {
  require(value >= 1, "[", name, "] must be at least 1, got ", value);
}

void require_layers(const char* name, int64_t value) {
  require_positive(name, value);
  require(value <= kMostLayers, "[", name, "] must be at most ", kMostLayers, ", got ", value);
}

// A visitor of fields: no size whose products could overflow, no number that is infinite or NaN.
struct FieldBounds {
  template <class T>
  void operator()(const char* name, const T& value) {
    if constexpr (kIsNested<T>) {
      kNestedFields<T>(*this, value);
    } else if constexpr (std::is_floating_point_v<T>) {
      require(std::isfinite(value), "[", name, "] must be a finite number, got ", value);
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      require(int64_t(value) <= kLargestSize, "[", name, "] must be at most ", kLargestSize, ", got ", value);
    }
  }
};

template <class Fields, class Config>
void require_bounds(const Fields& fields, const Config& config) {
  FieldBounds bounds;
  fields(bounds, config);
}

void require_rate(const char* name, double rate) {
  require(rate >= 0 && rate < 1, "[", name, "] must be at least 0 and below 1, got ", rate);
}

// Those that add nothing to scores.
bool goes_with_linear(const std::string& encoding) {
  return encoding == "none" || encoding == "sinusoidal" || encoding == "learned" || encoding == "rope";
}

}  // namespace

int64_t AttentionConfig::features(int64_t width) const {
  if (!uses_favor()) return width;
  if (favor_features > 0) return favor_features;
  const auto natural = int64_t(double(width) * std::log(double(width)));
  return std::max<int64_t>(2, natural - natural % 2);
}

int64_t AttentionConfig::rotated_width(int64_t width) const {
  return linear_rope == LinearRope::post_map ? features(width) : width;
}

Init LayerConfig::initial_weight(int64_t in, int64_t out, double gain) const {
  if (initial_deviation > 0) return Init::normal(initial_deviation);
  Init init = Init::xavier(in, out);
  init.value *= gain;
  return init;
}

std::string ModelConfig::describe_shape(const std::string& layers) const {
  std::string text = concat(layers, " x ", dim, ", ", counted(heads, "head"), ", FFN ", ffn, ", ");
  text += position.encoding == "none" ? "no positions" : position.encoding + " positions";
  if (attention.kind != AttentionKind::softmax) text += concat(", ", enum_name(attention.kind), " attention");
  return text;
}

std::string EncoderDecoderConfig::describe() const {
  return concat(kModel, ", ", describe_shape(concat(encoder_layers, " + ", counted(decoder_layers, "layer"))));
}

std::string EncoderOnlyConfig::describe() const {
  return concat(causal ? "decoder-only" : kModel, ", ", describe_shape(counted(layers, "layer")));
}

void ModelConfig::validate_shared() const {
  require_positive("vocab_size", vocab_size);
  require_positive("dim", dim);
  require_positive("ffn", ffn);
  require_positive("heads", heads);
  require(dim % heads == 0, "[heads] must divide dim = ", dim, ", got ", heads);
  require_rate("dropout", dropout);
  require_rate("attention_dropout", attention_dropout);
  require_rate("activation_dropout", activation_dropout);
  require(layer_norm_epsilon > 0, "[layer_norm_epsilon] must be positive, got ", layer_norm_epsilon);
  require(initial_deviation >= 0, "[initial_deviation] must not be negative, got ", initial_deviation);
  validate_attention();
  Parameters scratch;  // an encoding checks its own fields when it is made
  make_position_encoding({.config = position,
                          .dim = dim,
                          .heads = heads,
                          .parameters = scratch,
                          .name = "positions",
                          .rotated_width = attention.rotated_width(dim / heads)});
}

void ModelConfig::validate_attention() const {
  if (attention.kind == AttentionKind::window)
    require(attention.window >= 1, "[attention] window must be at least 1, got ", attention.window);
  if (attention.kind != AttentionKind::linear) return;
  require(goes_with_linear(position.encoding), "[attention] linear has no scores that ", position.encoding,
          " could add to: expected position none, sinusoidal, learned or rope");
  require(attention_dropout == 0, "[attention_dropout] linear attention has no weights to drop: expected 0, got ",
          attention_dropout);
  require(attention.favor_features >= 0, "[favor_features] must not be negative, got ", attention.favor_features);
  require(attention.favor_redraw >= 0, "[favor_redraw] must not be negative, got ", attention.favor_redraw);
}

void EncoderDecoderConfig::validate() const {
  require_layers("encoder_layers", encoder_layers);
  require_layers("decoder_layers", decoder_layers);
  require_bounds(kEncoderDecoderFields, *this);
  validate_shared();
  require(attention.kind == AttentionKind::softmax, "[attention] an encoder-decoder expects softmax, got ",
          enum_name(attention.kind), ": window and linear are kinds of encoder-only models");
}

Json EncoderDecoderConfig::to_json() const { return write(kEncoderDecoderFields, *this); }

EncoderDecoderConfig EncoderDecoderConfig::from_json(const Json& json) {
  return read<EncoderDecoderConfig>(kEncoderDecoderFields, json);
}

EncoderDecoderConfig EncoderDecoderConfig::preset(const std::string& name) {
  EncoderDecoderConfig config;
  config.encoder_layers = config.decoder_layers = apply(kEncoderDecoders, name, config);
  return config;
}

std::vector<std::string> EncoderDecoderConfig::preset_names() { return names_of(kEncoderDecoders); }

void EncoderOnlyConfig::validate() const {
  require_layers("layers", layers);
  require_bounds(kEncoderOnlyFields, *this);
  validate_shared();
  require(token_types >= 0, "[token_types] must not be negative, got ", token_types);
}

Json EncoderOnlyConfig::to_json() const { return write(kEncoderOnlyFields, *this); }

EncoderOnlyConfig EncoderOnlyConfig::from_json(const Json& json) {
  return read<EncoderOnlyConfig>(kEncoderOnlyFields, json);
}

EncoderOnlyConfig EncoderOnlyConfig::preset(const std::string& name) {
  EncoderOnlyConfig config;
  config.layers = apply(kEncodersOnly, name, config);
  const bool bert = name.starts_with("bert-"), roformer = name.starts_with("roformer-");
  if (bert || roformer) make_bert(config);
  if (bert) config.position = {.encoding = "learned", .max_positions = 512};
  if (roformer) config.position = {.encoding = "rope", .max_positions = 1536};
  if (name.starts_with("lm-")) make_causal(config);
  return config;
}

std::vector<std::string> EncoderOnlyConfig::preset_names() { return names_of(kEncodersOnly); }

void ClassifierConfig::validate() const {
  require_bounds(kClassifierFields, *this);
  encoder.validate();
  require(!encoder.causal, "[causal] must be false for a classifier: it reads the first row of a text, got true");
  require_positive("classes", classes);
  require_rate("classifier_dropout", dropout);
}

Json ClassifierConfig::to_json() const { return write(kClassifierFields, *this); }

ClassifierConfig ClassifierConfig::from_json(const Json& json) {
  return read<ClassifierConfig>(kClassifierFields, json);
}

Json with_defaults(const Json& config) {
  const auto model = config.find("model");
  require(model != config.end(), "[config] expected a \"model\" that names its kind, found none");
  if (*model == EncoderDecoderConfig::kModel) return EncoderDecoderConfig::from_json(config).to_json();
  if (*model == ClassifierConfig::kModel) return ClassifierConfig::from_json(config).to_json();
  return EncoderOnlyConfig::from_json(config).to_json();
}

}  // namespace gyre
