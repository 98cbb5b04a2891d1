// Damages JSON but usually keeps it valid: replaces tokens by others, so that a reader gets past the syntax check.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz.h"

// Splits a JSON text into strings (with their quotes), numbers, words and single characters.
inline std::vector<std::string_view> json_tokens(std::string_view text) {
  std::vector<std::string_view> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '"') {
      while (end < text.size() && (text[end] != '"' || text[end - 1] == '\\')) ++end;
      end = std::min(end + 1, text.size());
    } else if (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '-') {
      while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end]))) ++end;
    }
    tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

inline std::string strange_json_number(Fuzz& fuzz) {
  static const std::vector<std::string> numbers{"0",
                                                "1",
                                                "2",
                                                "4",
                                                "8",
                                                "-1",
                                                "-0",
                                                "1.0",
                                                "1e3",
                                                "1e400",
                                                "9223372036854775807",
                                                "9223372036854775808",
                                                "18446744073709551615",
                                                "18446744073709551616",
                                                "4294967296",
                                                "2305843009213693952",
                                                "99999999999999999999999999",
                                                "00",
                                                "0x1"};
  return fuzz.one_in(3) ? std::to_string(fuzz.below(64)) : fuzz.pick(numbers);
}

// Returns one of the format's strings (`own`), or one that is unusual in any format.
inline std::string strange_json_string(Fuzz& fuzz, const std::vector<std::string>& own) {
  static const std::vector<std::string> strings{
      R"("")", R"("\ud800")", R"("\u0000")", "\"\xff\"", "\"\xc3\"", "\"\\\"", "\"" + std::string(3000, 'x') + "\""};
  return fuzz.one_in(2) ? "\"" + fuzz.pick(own) + "\"" : fuzz.pick(strings);
}

inline std::string strange_json_value(Fuzz& fuzz) {
  static const std::vector<std::string> values{"null",        "true",  "{}",      "[]", "[[]]",
                                               R"({"a":{}})", "[0,0]", "[1,2,3]", ","};
  if (fuzz.one_in(8)) return std::string(1 + fuzz.below(5000), fuzz.one_in(2) ? '[' : '{');
  if (fuzz.one_in(8)) return std::string(1 + fuzz.below(200), ' ');
  return fuzz.pick(values);
}

// Replaces, inserts or removes a token. The new token is usually of the same kind, or else a copy of another token.
// own: strings of the format.
inline void damage_json(Fuzz& fuzz, std::string& text, const std::vector<std::string>& own) {
  const std::vector<std::string_view> tokens = json_tokens(text);
  if (tokens.empty()) return;
  const std::string_view token = fuzz.pick(tokens), other = fuzz.pick(tokens);
  const auto at = static_cast<size_t>(token.data() - text.data());
  const bool is_number = std::isdigit(static_cast<unsigned char>(token[0])) != 0;
  std::string instead(other);
  if (!fuzz.one_in(4)) {
    instead = is_number         ? strange_json_number(fuzz)
              : token[0] == '"' ? strange_json_string(fuzz, own)
                                : strange_json_value(fuzz);
  }
  switch (fuzz.below(4)) {
    case 0:
      text.insert(at, instead);
      break;
    case 1:
      text.erase(at, token.size());
      break;
    default:
      text.replace(at, token.size(), instead);
  }
}
