// Converts between text and typed values, in the same way for the command line, configuration files and run/train.toml.
#pragma once

#include <charconv>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/train/options.h"
#include "tools/command_line/config_file.h"

namespace gyre {

// Calls `check` and rethrows its Error as UsageError, because the checked values come from the user.
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

// Parses the whole text as one value. Throws UsageError; the caller adds the option's name.
template <Number T>
void parse_value(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc() && result.ptr == end) return;
  if constexpr (std::integral<T>) {
    if (result.ec == std::errc::result_out_of_range && result.ptr == end)
      throw UsageError("expected an integer from ", std::numeric_limits<T>::min(), " to ",
                       std::numeric_limits<T>::max(), ", got ", text);
  }
  const char* expected = std::floating_point<T>      ? "a number"
                         : std::unsigned_integral<T> ? "a non-negative integer"
                                                     : "an integer";
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

template <class T>
T parsed(const std::string& text) {
  T value{};
  parse_value(text, value);
  return value;
}

// Splits the values at commas and returns all words.
std::vector<std::string> split_list(const std::vector<std::string>& values);

// "one, two", for help and errors.
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");

// Writes a TOML value that parse_value reads back to the same bits.
template <Number T>
std::string toml_value(T value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}
inline std::string toml_value(bool value) { return value ? "true" : "false"; }
inline std::string toml_value(const std::string& value) { return toml_string(value); }
inline std::string toml_value(const Path& value) { return toml_string(value.string()); }
inline std::string toml_value(const Period& value) { return toml_string(value.text()); }

// Empty if there is no value.
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
