// Text to typed values and back: one rule for the command line, configuration files and run/train.toml.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "tools/config_file.h"
#include "train/options.h"

namespace gyre {

// What is wrong with values that the call gave is a wrong call.
template <class F>
void as_usage_error(F&& check) {
  try {
    check();
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

// The whole text must be the value. Throws UsageError; the caller adds the option's name.
template <Number T>
void parse_value(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc() && result.ptr == end) return;
  const char* expected = std::floating_point<T>      ? "a number"
                         : std::unsigned_integral<T> ? "a whole number from 0 up"
                                                     : "a whole number";
  throw UsageError("expected ", expected, ", got '", text, "'");
}

void parse_value(const std::string& text, bool& value);
inline void parse_value(const std::string& text, std::string& value) { value = text; }
inline void parse_value(const std::string& text, Path& value) { value = text; }
inline void parse_value(const std::string& text, Period& value) { value = Period::parse(text); }

template <class T>
void parse_value(const std::string& text, std::optional<T>& value) {
  parse_value(text, value.emplace());
}

// The words of a list that stands in one value, with commas between, or in several.
std::vector<std::string> split_list(const std::vector<std::string>& values);

// A TOML value that parse_value reads back to the same bits.
template <Number T>
std::string toml_value(T value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}
inline std::string toml_value(bool value) { return value ? "true" : "false"; }
inline std::string toml_value(const std::string& value) { return toml_string(value); }
inline std::string toml_value(const Path& value) { return toml_string(value.string()); }
inline std::string toml_value(const Period& value) { return toml_string(value.text()); }

// Empty: there is nothing to write.
template <class T>
std::string toml_value(const std::optional<T>& value) {
  return value ? toml_value(*value) : "";
}

template <class T>
std::string toml_value(const std::vector<T>& values) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ", ") + toml_value(value);
  return "[" + text + "]";
}

}  // namespace gyre
