#include "gyre/models/config/config.h"

#include <cmath>

#include "gyre/core/counted.h"
#include "gyre/core/io/json.h"
#include "gyre/core/sizes.h"
#include "gyre/models/config/config_json.h"
#include "gyre/models/position/position.h"

namespace gyre {
namespace {

// The fields of each config with their keys in JSON.
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

constexpr auto kLayerVariantFields = [](auto& field, auto& c) {
  field("kv_heads", c.kv_heads);
  field("head_dim", c.head_dim);
  field("qk_norm", c.qk_norm);
  field("gated_ffn", c.gated_ffn);
  field("norm_type", c.norm_type);
  field("residual_form", c.residual_form);
  field("biases", c.biases);
};

constexpr auto kEncoderOnlyFields = [](auto& field, auto& c) {
  kSharedFields(field, c);
  kLayerVariantFields(field, c);
  field("layers", c.layers);
  field("causal", c.causal);
  field("token_types", c.token_types);
  field("embedding_dim", c.embedding_dim);
  field("embedding_norm", c.embedding_norm);
  field("scale_embedding", c.scale_embedding);
  field("head_transform", c.head_transform);
  field("output_bias", c.output_bias);
  field("tied_output", c.tied_output);
  field("scaled_residual_init", c.scaled_residual_init);
};

constexpr auto kClassifierFields = [](auto& field, auto& c) {
  kEncoderOnlyFields(field, c.encoder);
  field("classifier_head", c.head);
  field("classes", c.classes);
  field("classifier_dropout", c.dropout);
};

template <class Fields, class Config>
Json write_fields(const Fields& fields, const Config& config) {
  ConfigWriter writer;
  writer("model", Config::kModel);
  fields(writer, config);
  return writer.json;
}

template <class Config, class Fields>
Config read_fields(const Fields& fields, const Json& json) {
  Config config;
  ConfigReader reader(json, "config");
  std::string model = Config::kModel;
  reader("model", model);
  if (model != Config::kModel) {
    const bool is_decoder = model == EncoderOnlyConfig::kModel && json.value("causal", Json()) == true;
    const bool takes_decoders = std::is_same_v<Config, EncoderOnlyConfig>;
    throw Error("[config] expected a model of kind ", Config::kModel, takes_decoders ? " or decoder" : "", ", got ",
                is_decoder ? "decoder" : model);
  }
  fields(reader, config);
  reader.refuse_unknown();
  config.validate();
  return config;
}

void require_positive(const char* name, int64_t value) {
  require(value >= 1, "[", name, "] must be at least 1, got ", value);
}

void require_layers(const char* name, int64_t value) {
  require_positive(name, value);
  require(value <= kMaxLayers, "[", name, "] must be at most ", kMaxLayers, ", got ", value);
}

// A visitor of fields that rejects sizes whose products could overflow, and numbers that are infinite or NaN.
struct FieldBounds {
  template <class T>
  void operator()(const char* name, const T& value) {
    if constexpr (kIsNested<T>) {
      kNestedFields<T>(*this, value);
    } else if constexpr (std::is_floating_point_v<T>) {
      require(std::isfinite(value), "[", name, "] must be a finite number, got ", value);
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      require(int64_t(value) <= kMaxDimension, "[", name, "] must be at most ", kMaxDimension, ", got ", value);
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

// "none, sinusoidal, learned or rope"
std::string encodings_without_terms() {
  std::vector<std::string> names = position_encoding_names();
  std::erase_if(names, [](const std::string& name) { return position_encoding_type(name).adds_to_scores; });
  std::string text;
  for (const std::string& name : names)
    text += (&name == &names.front() ? "" : &name == &names.back() ? " or " : ", ") + name;
  return text;
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

Init LayerConfig::initial_residual_weight(int64_t in, int64_t out) const {
  Init init = initial_weight(in, out);
  init.value *= residual_gain;
  return init;
}

std::string ModelConfig::describe_shape(const std::string& layers) const {
  const std::string groups = key_heads() < heads ? concat(" in ", counted(key_heads(), "group")) : "";
  std::string text = concat(layers, " x ", dim, ", ", counted(heads, "head"), groups, ", ",
                            gated_ffn ? "gated FFN " : "FFN ", ffn, ", ");
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
  require(head_dim > 0 || dim % heads == 0, "[heads] must divide dim = ", dim, ", got ", heads);
  require_rate("dropout", dropout);
  require_rate("attention_dropout", attention_dropout);
  require_rate("activation_dropout", activation_dropout);
  require(layer_norm_epsilon > 0, "[layer_norm_epsilon] must be positive, got ", layer_norm_epsilon);
  require(initial_deviation >= 0, "[initial_deviation] must not be negative, got ", initial_deviation);
  validate_attention();
  check_position_encoding(position,
                          {.dim = dim, .head = dim / heads, .rotated = attention.rotated_width(head_width())});
}

void ModelConfig::validate_attention() const {
  if (attention.kind == AttentionKind::window)
    require(attention.window >= 1, "[attention] window must be at least 1, got ", attention.window);
  if (attention.kind != AttentionKind::linear) return;
  require(!position_encoding_type(position.encoding).adds_to_scores, "[attention] linear has no scores that ",
          position.encoding, " could add to: expected position ", encodings_without_terms());
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
          enum_name(attention.kind), ": encoders and decoders have the other kinds");
}

Json EncoderDecoderConfig::to_json() const { return write_fields(kEncoderDecoderFields, *this); }

EncoderDecoderConfig EncoderDecoderConfig::from_json(const Json& json) {
  return read_fields<EncoderDecoderConfig>(kEncoderDecoderFields, json);
}

void EncoderOnlyConfig::validate() const {
  require_layers("layers", layers);
  require_bounds(kEncoderOnlyFields, *this);
  validate_shared();
  validate_variants();
  require(token_types >= 0, "[token_types] must not be negative, got ", token_types);
}

void EncoderOnlyConfig::validate_variants() const {
  require(kv_heads >= 0 && (kv_heads == 0 || heads % kv_heads == 0), "[kv_heads] must divide heads = ", heads, ", got ",
          kv_heads);
  require(head_dim >= 0, "[head_dim] must not be negative, got ", head_dim);
  require(query_dim() == dim || !position_encoding_type(position.encoding).adds_to_scores, "[head_dim] with ",
          position.encoding, " positions, expected heads of ", dim, " features in all, got ", heads, " x ", head_dim);
  require(attention.kind != AttentionKind::linear || (key_heads() == heads && !qk_norm),
          "[attention] linear supports neither kv_heads below heads = ", heads,
          " nor qk_norm, got kv_heads = ", key_heads(), " and qk_norm = ", qk_norm);
  const bool has_table = position.encoding != "rope" && position.encoding != "none";
  require(embedding_dim >= 0, "[embedding_dim] must not be negative, got ", embedding_dim);
  require(embedding_width() == dim || (head_transform && !has_table), "[embedding_dim] other than dim = ", dim,
          " expects head_transform and position rope or none, got head_transform = ", head_transform, " and position ",
          position.encoding);
  require(residual_form == ResidualForm::sequential || norm == NormPlacement::pre, "[residual_form] ",
          enum_name(residual_form), " is a form of pre-norm layers: expected norm = pre, got post");
}

Json EncoderOnlyConfig::to_json() const { return write_fields(kEncoderOnlyFields, *this); }

EncoderOnlyConfig EncoderOnlyConfig::from_json(const Json& json) {
  return read_fields<EncoderOnlyConfig>(kEncoderOnlyFields, json);
}

void ClassifierConfig::validate() const {
  require_bounds(kClassifierFields, *this);
  encoder.validate();
  require(!encoder.causal, "[causal] must be false for a classifier: it reads the first row of a text, got true");
  require_positive("classes", classes);
  require_rate("classifier_dropout", dropout);
}

Json ClassifierConfig::to_json() const { return write_fields(kClassifierFields, *this); }

ClassifierConfig ClassifierConfig::from_json(const Json& json) {
  return read_fields<ClassifierConfig>(kClassifierFields, json);
}

Json with_defaults(const Json& config) {
  const auto model = config.find("model");
  require(model != config.end(), "[config] expected a \"model\" that names its kind, found none");
  if (*model == EncoderDecoderConfig::kModel) return EncoderDecoderConfig::from_json(config).to_json();
  if (*model == ClassifierConfig::kModel) return ClassifierConfig::from_json(config).to_json();
  return EncoderOnlyConfig::from_json(config).to_json();
}

}  // namespace gyre
