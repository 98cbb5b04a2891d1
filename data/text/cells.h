// Cells of lines with tab-separated columns. There is no quoting.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/error.h"

namespace gyre {

// The cells are views of the line.
inline void split_cells(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  size_t begin = 0, tab = 0;
  do {
    tab = line.find('\t', begin);
    cells.push_back(line.substr(begin, tab - begin));
    begin = tab + 1;
  } while (tab != std::string_view::npos);
}

// Lists names for a message: "a", "b".
template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (const auto& name : names) text += concat(text.empty() ? "" : ", ", '"', name, '"');
  return text;
}

}  // namespace gyre
