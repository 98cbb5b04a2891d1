// Removes characters from both ends of a text.
#pragma once

#include <cstddef>
#include <string_view>

namespace gyre {

// Returns the text without the `characters` at its ends.
inline std::string_view strip(std::string_view text, std::string_view characters) {
  const size_t begin = text.find_first_not_of(characters);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(characters) - begin + 1);
}

}  // namespace gyre
