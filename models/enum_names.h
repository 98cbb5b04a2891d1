// Text forms of the enums in model configurations: config.json and the command line share them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace gyre {

// One specialisation per enum: an array of pairs of value and name.
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

// `field` names the option in the error.
template <class E>
E parse_enum(std::string_view field, std::string_view text) {
  for (const auto& [v, name] : kEnumNames<E>)
    if (name == text) return v;
  throw Error("[", field, "] expected one of ", enum_choices<E>(), ", got \"", text, "\"");
}

}  // namespace gyre
