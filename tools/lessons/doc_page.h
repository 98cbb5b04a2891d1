// HTML pages of the documentation (make docs), with the lessons of tools/docs/autodiff.md as figures in the text.
#pragma once

#include <string>
#include <string_view>

namespace gyre {

// Makes a page of the HTML that cmark-gfm makes of a Markdown file.
// - The title is the first heading of level 1. Headings of level 2 and 3 get the identifiers that GitHub gives them,
//   and those of level 2 are listed at the top.
// - Links to Markdown files of the same folder lead to their HTML pages.
// - A line <!-- lesson: NAME --> becomes the figure of lesson_data(NAME).
std::string doc_page(std::string_view html);

// "7. RoPE, by hand" -> "7-rope-by-hand"
std::string heading_id(std::string_view text);

}  // namespace gyre
