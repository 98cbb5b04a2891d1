// Configurations as JSON. A visitor that names the fields of a config serves reading and writing.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/config.h"

namespace gyre {

inline constexpr auto kPositionFields = [](auto& field, auto& c) {
  field("encoding", c.encoding);
  field("max_positions", c.max_positions);
  field("sinusoid_layout", c.sinusoid_layout);
  field("rope_base", c.rope_base);
  field("rope_pairs", c.rope_pairs);
  field("rotary_dims", c.rotary_dims);
  field("rope_learnable", c.rope_learnable);
  field("rope_rotate_cross", c.rope_rotate_cross);
  field("rope_step", c.rope_step);
  field("rope_scaling", c.rope_scaling);
  field("rope_scaling_factor", c.rope_scaling_factor);
  field("rope_original_length", c.rope_original_length);
  field("shaw_clip", c.shaw_clip);
  field("shaw_values", c.shaw_values);
  field("bias_buckets", c.bias_buckets);
  field("bias_max_distance", c.bias_max_distance);
  field("tupe_bias", c.tupe_bias);
  field("deberta_clip", c.deberta_clip);
  field("wavelet", c.wavelet);
  field("wavelet_scales", c.wavelet_scales);
  field("wavelet_shifts", c.wavelet_shifts);
  field("wavelet_time", c.wavelet_time);
};

inline constexpr auto kAttentionFields = [](auto& field, auto& c) {
  field("kind", c.kind);
  field("window", c.window);
  field("linear_map", c.linear_map);
  field("linear_rope", c.linear_rope);
  field("favor_features", c.favor_features);
  field("favor_redraw", c.favor_redraw);
};

// The fields of a config within a config.
template <class T>
inline constexpr std::nullptr_t kNestedFields = nullptr;
template <>
inline constexpr auto kNestedFields<PositionConfig> = kPositionFields;
template <>
inline constexpr auto kNestedFields<AttentionConfig> = kAttentionFields;
template <class T>
inline constexpr bool kIsNested = !std::is_null_pointer_v<std::remove_const_t<decltype(kNestedFields<T>)>>;

class ConfigWriter {
 public:
  template <class T>
  void operator()(const char* name, const T& value) {
    if constexpr (kIsNested<T>) {
      ConfigWriter nested;
      kNestedFields<T>(nested, value);
      json[name] = nested.json;
    } else if constexpr (std::is_enum_v<T>) {
      json[name] = enum_name(value);
    } else {
      json[name] = value;
    }
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
};

// Absent keys keep what the config holds; wrong types are errors, and so are the keys that refuse_unknown() finds.
class ConfigReader {
 public:
  ConfigReader(const nlohmann::ordered_json& json, std::string path) : json_(json), path_(std::move(path)) {
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
  static void read(const std::string& path, const nlohmann::ordered_json& json, T& value) {
    if constexpr (kIsNested<T>) {
      ConfigReader nested(json, path);
      kNestedFields<T>(nested, value);
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
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      require(json.is_array(), "[", path, "] expected a list of numbers, got ", json.dump());
      value.clear();
      for (const auto& item : json) read(path, item, value.emplace_back());
    } else {
      require(json.is_string(), "[", path, "] expected a string, got ", json.dump());
      value = json.get<T>();
    }
  }

  const nlohmann::ordered_json& json_;
  std::string path_;
  std::vector<std::string> names_;
};

}  // namespace gyre
