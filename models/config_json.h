// Configurations as JSON. A visitor that names the fields of a config serves reading and writing.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/position/position.h"

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
};

class ConfigWriter {
 public:
  template <class T>
  void operator()(const char* name, const T& value) {
    if constexpr (std::is_same_v<T, PositionConfig>) {
      ConfigWriter nested;
      kPositionFields(nested, value);
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
    if constexpr (std::is_same_v<T, PositionConfig>) {
      ConfigReader nested(json, path);
      kPositionFields(nested, value);
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

  const nlohmann::ordered_json& json_;
  std::string path_;
  std::vector<std::string> names_;
};

}  // namespace gyre
