// Converts between text and the values of options, in the same way for the command line, configuration files and
// run/train.toml.
#pragma once

#include <charconv>
#include <concepts>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/error.h"

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
inline void parse_value(const std::string& text, std::filesystem::path& value) { value = text; }

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

// Returns the given word in the spelling of `choices`; '_' is read as '-' (fairseq writes inverse_sqrt). Throws a
// UsageError that suggests the nearest choice if it is none of them.
std::string chosen_word(const std::string& given, const std::vector<std::string>& choices);

template <class E>
requires std::is_enum_v<E>
void parse_value(const std::string& text, E& value) {
  std::vector<std::string> words;
  for (const auto& [of, name] : kEnumNames<E>) words.emplace_back(name);
  value = parse_enum<E>("", chosen_word(text, words));
}

// The letters that follow a backslash in a TOML string, and the characters that they stand for.
inline constexpr std::string_view kTomlEscapes = "btnfr\"\\", kTomlEscaped = "\b\t\n\f\r\"\\";

// The text as a quoted TOML string.
std::string toml_string(const std::string& text);

// Writes a TOML value that parse_value reads back to the same bits.
template <Number T>
std::string toml_value(T value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}
inline std::string toml_value(bool value) { return value ? "true" : "false"; }
inline std::string toml_value(const std::string& value) { return toml_string(value); }
inline std::string toml_value(const std::filesystem::path& value) { return toml_string(value.string()); }
template <class E>
requires std::is_enum_v<E> std::string toml_value(E value) { return toml_string(std::string(enum_name(value))); }

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

// The value as messages and the options of a checkpoint show it.
template <Number T>
std::string option_text(T value) {
  return concat(value);
}
inline std::string option_text(bool value) { return value ? "on" : "off"; }
inline std::string option_text(const std::string& value) { return value; }
inline std::string option_text(const std::filesystem::path& value) { return value.string(); }
template <class E>
requires std::is_enum_v<E> std::string option_text(E value) { return std::string(enum_name(value)); }

template <class T>
std::string option_text(const std::optional<T>& value) {
  return value ? option_text(*value) : "";
}

template <class T>
std::string option_text(const std::vector<T>& values) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : " ") + option_text(value);
  return text;
}

}  // namespace gyre
