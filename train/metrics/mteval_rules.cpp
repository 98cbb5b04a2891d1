#include "gyre/train/metrics/mteval_rules.h"

#include <utility>

namespace gyre {

std::u32string replace_all(std::u32string text, std::u32string_view from, std::u32string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::u32string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::u32string unescape_sgml(std::u32string text) {
  text = replace_all(std::move(text), U"&quot;", U"\"");
  text = replace_all(std::move(text), U"&amp;", U"&");
  text = replace_all(std::move(text), U"&lt;", U"<");
  return replace_all(std::move(text), U"&gt;", U">");
}

std::u32string space_ascii_symbols(std::u32string_view text) {
  return space_around(text, [](char32_t c) {
    return (c >= U'{' && c <= U'~') || (c >= U'[' && c <= U'`') || (c >= U' ' && c <= U'&') ||
           (c >= U'(' && c <= U'+') || (c >= U':' && c <= U'@') || c == U'/';
  });
}

std::u32string space_numbers(std::u32string_view text) {
  const auto digit = [](char32_t c) { return c >= U'0' && c <= U'9'; };
  const auto not_digit = [&](char32_t c) { return !digit(c); };
  const auto stop = [](char32_t c) { return c == U'.' || c == U','; };
  const auto dash = [](char32_t c) { return c == U'-'; };
  std::u32string result = space_pairs(text, not_digit, stop, Spaces::around_second);
  result = space_pairs(result, stop, not_digit, Spaces::around_first);
  return space_pairs(result, digit, dash, Spaces::around_second);
}

}  // namespace gyre
