#include "gyre/core/option_values.h"

#include <algorithm>

#include "gyre/core/suggestions.h"

namespace gyre {

void parse_value(const std::string& text, bool& value) {
  if (text == "true" || text == "1") {
    value = true;
  } else if (text == "false" || text == "0") {
    value = false;
  } else {
    throw UsageError("expected true or false, got '", text, "'");
  }
}

std::vector<std::string> split_list(const std::vector<std::string>& values) {
  std::vector<std::string> words;
  for (const std::string& value : values) {
    for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
      end = value.find(',', begin);
      words.push_back(value.substr(begin, end == std::string::npos ? end : end - begin));
    }
  }
  return words;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : between).append(word);
  return text;
}

std::string chosen_word(const std::string& given, const std::vector<std::string>& choices) {
  const auto is_choice = [&](const std::string& word) { return std::ranges::find(choices, word) != choices.end(); };
  if (is_choice(given)) return given;
  std::string word = given;
  std::replace(word.begin(), word.end(), '_', '-');
  if (is_choice(word)) return word;
  throw UsageError("expected one of ", joined(choices), "; got '", given, "'", did_you_mean(word, choices));
}

std::string toml_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (const size_t known = kTomlEscaped.find(c); known != std::string_view::npos) {
      result += {'\\', kTomlEscapes[known]};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      constexpr const char* kDigits = "0123456789abcdef";
      result += {'\\', 'u', '0', '0', kDigits[(c >> 4) & 0xf], kDigits[c & 0xf]};
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace gyre
