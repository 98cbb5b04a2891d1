// Reads and writes configurations as JSON. One function per config lists its fields with their keys; it takes the
// reader, the writer or another visitor as an argument.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/models/config/config.h"

namespace gyre {

// Passes each option of a position encoding to the visitor, under the name that the encoding gives it.
template <class Visitor>
void visit_options(Visitor& visitor, const std::vector<PositionOption>& options) {
  for (const PositionOption& option : options) {
    std::visit(
        [&](auto value) {
          if constexpr (std::is_pointer_v<decltype(value)>) {
            visitor(option.name, *value);
          } else {
            visitor(option.name, value);
          }
        },
        option.value);
  }
}

inline constexpr auto kPositionFields = [](auto& field, auto& c) {
  field("encoding", c.encoding);
  if constexpr (std::is_const_v<std::remove_reference_t<decltype(c)>>) {
    PositionConfig copy = c;  // the options of a copy have pointers that can be written to
    visit_options(field, copy.options());
  } else {
    visit_options(field, c.options());
  }
};

inline constexpr auto kAttentionFields = [](auto& field, auto& c) {
  field("kind", c.kind);
  field("window", c.window);
  field("linear_map", c.linear_map);
  field("linear_rope", c.linear_rope);
  field("favor_features", c.favor_features);
  field("favor_redraw", c.favor_redraw);
};

// The list of fields of a config that is a field of another config.
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
    } else if constexpr (std::is_same_v<T, EnumPointer>) {
      json[name] = value.name();
    } else {
      json[name] = value;
    }
  }
  Json json = Json::object();
};

// Absent keys leave their fields as they are. Wrong types are errors; refuse_unknown() also rejects unknown keys.
class ConfigReader {
 public:
  ConfigReader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
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
    if constexpr (kIsNested<T>) {
      ConfigReader nested(json, path);
      kNestedFields<T>(nested, value);
      nested.refuse_unknown();
    } else if constexpr (std::is_enum_v<T>) {
      require(json.is_string(), "[", path, "] expected one of ", enum_choices<T>(), ", got ", json.dump());
      value = parse_enum<T>(path, json.get<std::string>());
    } else if constexpr (std::is_same_v<T, EnumPointer>) {
      require(json.is_string(), "[", path, "] expected one of ", value.choices(), ", got ", json.dump());
      value.parse(path, json.get<std::string>());
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

  const Json& json_;
  std::string path_;
  std::vector<std::string> names_;
};

}  // namespace gyre
