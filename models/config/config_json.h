// Reads and writes configurations as JSON, by visitors that take a key and the field of this key.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/models/config/config.h"

namespace gyre {

// Passes the field of an option to the visitor, with a key.
template <class Visitor>
void visit_field(Visitor& visitor, const std::string& key, const OptionValue::Field& field) {
  std::visit(
      [&](auto value) {
        if constexpr (std::is_pointer_v<decltype(value)>) {
          visitor(key, *value);
        } else if constexpr (std::is_same_v<decltype(value), EnumPointer>) {
          visitor(key, value);
        }
      },
      field);
}

// Passes the fields of the options of config.json to the visitor.
template <class Visitor>
void visit_options(Visitor& visitor, const OptionList& options) {
  for (const OptionList::Entry& entry : options.entries())
    if (!entry.option.key.empty()) visit_field(visitor, entry.option.key, entry.option.value.field);
}

class ConfigWriter {
 public:
  // A key such as "attention/window" is that of an object within the object.
  template <class T>
  void operator()(const std::string& key, const T& value) {
    Json& at = json[Json::json_pointer("/" + key)];
    if constexpr (std::is_enum_v<T>) {
      at = enum_name(value);
    } else if constexpr (std::is_same_v<T, EnumPointer>) {
      at = value.name();
    } else {
      at = value;
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
  void operator()(const std::string& key, T& value) {
    const size_t slash = key.find('/');
    const std::string name = key.substr(0, slash);
    names_.push_back(name);
    const auto it = json_.find(name);
    if (it == json_.end()) return;
    if (slash == std::string::npos) {
      read(path_ + "." + name, *it, value);
    } else {
      auto& object = objects_[name];
      if (!object) object = std::make_unique<ConfigReader>(*it, path_ + "." + name);
      (*object)(key.substr(slash + 1), value);
    }
  }

  void refuse_unknown() const {
    for (const auto& item : json_.items())
      require(std::find(names_.begin(), names_.end(), item.key()) != names_.end(), "[", path_, "] unknown key \"",
              item.key(), "\"");
    for (const auto& [name, object] : objects_) object->refuse_unknown();
  }

 private:
  template <class T>
  static void read(const std::string& path, const Json& json, T& value) {
    if constexpr (std::is_enum_v<T>) {
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
  std::map<std::string, std::unique_ptr<ConfigReader>> objects_;  // objects within the object, by their keys
};

}  // namespace gyre
