// Names of enumerators, one table for each enum. Configurations, the command line and messages share them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gyre/core/error.h"

namespace gyre {

// Specialized for each enum by an array of (value, name) pairs.
template <class E>
inline constexpr std::nullptr_t kEnumNames = nullptr;

template <class E>
std::string_view enum_name(E value) {
  for (const auto& [v, name] : kEnumNames<E>)
    if (v == value) return name;
  throw Error("[enum] value ", int(value), " has no name");
}

template <class E>
std::string enum_choices() {
  std::string all;
  for (const auto& [v, name] : kEnumNames<E>) all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

template <class E>
std::vector<E> enum_values() {
  std::vector<E> all;
  for (const auto& [v, name] : kEnumNames<E>) all.push_back(v);
  return all;
}

// The value with the name `text`. Throws Error if there is none; `field` is the option in the message.
template <class E>
E parse_enum(std::string_view field, std::string_view text) {
  for (const auto& [v, name] : kEnumNames<E>)
    if (name == text) return v;
  throw Error("[", field, "] expected one of ", enum_choices<E>(), ", got \"", text, "\"");
}

// A pointer to a value of some enum that has names, for code that reads and writes the value by name.
class EnumPointer {
 public:
  template <class E>
  requires std::is_enum_v<E> EnumPointer(E* value)
      : value_(value),
        name_([](const void* v) { return enum_name(*static_cast<const E*>(v)); }),
        parse_([](void* v, std::string_view field, std::string_view text) {
          *static_cast<E*>(v) = parse_enum<E>(field, text);
        }) {
    for (const auto& [v, name] : kEnumNames<E>) names_.emplace_back(name);
  }

  std::string_view name() const { return name_(value_); }
  // Sets the value. `field` names the option in the error.
  void parse(std::string_view field, std::string_view text) const { parse_(value_, field, text); }
  const std::vector<std::string>& names() const { return names_; }  // names of all values
  std::string choices() const {                                     // "pre, post"
    std::string all;
    for (const std::string& name : names_) all += (all.empty() ? "" : ", ") + name;
    return all;
  }

 private:
  void* value_;
  std::string_view (*name_)(const void*);
  void (*parse_)(void*, std::string_view, std::string_view);
  std::vector<std::string> names_;
};

}  // namespace gyre
