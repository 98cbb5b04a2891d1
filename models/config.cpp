#include "models/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;

// The fields of a config under their names in JSON: one list serves reading and writing.
template <class Visitor, class Config>
void visit_position(Visitor& field, Config& c) {
  field("encoding", c.encoding);
  field("max_positions", c.max_positions);
  field("sinusoid_layout", c.sinusoid_layout);
  field("rope_base", c.rope_base);
  field("rope_pairs", c.rope_pairs);
  field("rotary_dims", c.rotary_dims);
  field("rope_learnable", c.rope_learnable);
  field("rope_rotate_cross", c.rope_rotate_cross);
}

template <class Visitor, class Config>
void visit_model(Visitor& field, Config& c) {
  field("vocab_size", c.vocab_size);
  field("dim", c.dim);
  field("ffn", c.ffn);
  field("heads", c.heads);
  field("encoder_layers", c.encoder_layers);
  field("decoder_layers", c.decoder_layers);
  field("norm", c.norm);
  field("final_norm", c.final_norm);
  field("activation", c.activation);
  field("dropout", c.dropout);
  field("attention_dropout", c.attention_dropout);
  field("activation_dropout", c.activation_dropout);
  field("layer_norm_epsilon", c.layer_norm_epsilon);
  field("tied_embeddings", c.tied_embeddings);
  field("tied_output", c.tied_output);
  field("scale_embedding", c.scale_embedding);
  field("position", c.position);
}

class Writer {
 public:
  template <class T>
  void operator()(const char* name, const T& value) {
    if constexpr (std::is_same_v<T, PositionConfig>) {
      Writer nested;
      visit_position(nested, value);
      json[name] = nested.json;
    } else if constexpr (std::is_enum_v<T>) {
      json[name] = enum_name(value);
    } else {
      json[name] = value;
    }
  }
  Json json = Json::object();
};

class Reader {
 public:
  Reader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    require(json.is_object(), "[", path_, "] expected a JSON object, got ", json.dump());
  }

  template <class T>
  void operator()(const char* name, T& value) {
    names_.emplace_back(name);
    const auto it = json_.find(name);
    if (it != json_.end()) read(path_ + "." + name, *it, value);
  }

  void refuse_unknown() const {
    for (const auto& item : json_.items())
      require(std::find(names_.begin(), names_.end(), item.key()) != names_.end(), "[", path_, "] unknown key \"",
              item.key(), "\"");
  }

 private:
  template <class T>
  static void read(const std::string& path, const Json& json, T& value) {
    if constexpr (std::is_same_v<T, PositionConfig>) {
      Reader nested(json, path);
      visit_position(nested, value);
      nested.refuse_unknown();
    } else if constexpr (std::is_enum_v<T>) {
      require(json.is_string(), "[", path, "] expected one of ", enum_choices<T>(), ", got ", json.dump());
      value = parse_enum<T>(path, json.get<std::string>());
    } else if constexpr (std::is_same_v<T, bool>) {
      require(json.is_boolean(), "[", path, "] expected true or false, got ", json.dump());
      value = json.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      require(json.is_number_integer(), "[", path, "] expected an integer, got ", json.dump());
      value = json.get<T>();
    } else if constexpr (std::is_floating_point_v<T>) {
      require(json.is_number(), "[", path, "] expected a number, got ", json.dump());
      value = json.get<T>();
    } else {
      require(json.is_string(), "[", path, "] expected a string, got ", json.dump());
      value = json.get<T>();
    }
  }

  const Json& json_;
  std::string path_;
  std::vector<std::string> names_;
};

struct Preset {
  const char* name;
  int64_t layers, dim, ffn, heads;
  double dropout;
};
// Vaswani et al. 2017, table 3 (base, big); tiny is for trials on a laptop.
constexpr Preset kPresets[] = {{"transformer-tiny", 4, 128, 256, 4, 0.1},
                               {"transformer-base", 6, 512, 2048, 8, 0.1},
                               {"transformer-big", 6, 1024, 4096, 16, 0.3}};

void require_positive(const char* name, int64_t value) {
  require(value >= 1, "[", name, "] must be at least 1, got ", value);
}

void require_rate(const char* name, double rate) {
  require(rate >= 0 && rate < 1, "[", name, "] must be at least 0 and below 1, got ", rate);
}

}  // namespace

void EncoderDecoderConfig::validate() const {
  require_positive("vocab_size", vocab_size);
  require_positive("dim", dim);
  require_positive("ffn", ffn);
  require_positive("heads", heads);
  require_positive("encoder_layers", encoder_layers);
  require_positive("decoder_layers", decoder_layers);
  require(dim % heads == 0, "[heads] must divide dim = ", dim, ", got ", heads);
  require_rate("dropout", dropout);
  require_rate("attention_dropout", attention_dropout);
  require_rate("activation_dropout", activation_dropout);
  require(layer_norm_epsilon > 0, "[layer_norm_epsilon] must be positive, got ", layer_norm_epsilon);
  Parameters scratch;  // an encoding checks its own fields when it is made
  make_position_encoding({position, dim, heads, scratch, "positions"});
}

Json EncoderDecoderConfig::to_json() const {
  Writer writer;
  visit_model(writer, *this);
  return writer.json;
}

EncoderDecoderConfig EncoderDecoderConfig::from_json(const Json& json) {
  EncoderDecoderConfig config;
  Reader reader(json, "config");
  visit_model(reader, config);
  reader.refuse_unknown();
  config.validate();
  return config;
}

EncoderDecoderConfig EncoderDecoderConfig::preset(const std::string& name) {
  std::string names;
  for (const Preset& p : kPresets) {
    if (name == p.name) {
      EncoderDecoderConfig config;
      config.encoder_layers = config.decoder_layers = p.layers;
      config.dim = p.dim;
      config.ffn = p.ffn;
      config.heads = p.heads;
      config.dropout = p.dropout;
      return config;
    }
    names += (names.empty() ? "" : ", ") + std::string(p.name);
  }
  throw Error("[preset] expected one of ", names, ", got \"", name, "\"");
}

std::vector<std::string> EncoderDecoderConfig::preset_names() {
  std::vector<std::string> names;
  for (const Preset& p : kPresets) names.emplace_back(p.name);
  return names;
}

}  // namespace gyre
