#include "tools/command_line/option_values.h"

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

}  // namespace gyre
