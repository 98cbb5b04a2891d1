// Substitutions of characters that the tokenizers of mteval (BLEU) and tercom (TER) have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gyre {

// The position of the space that a substitution inserts next to its two matched characters.
enum class Spaces { around_first, around_second };

// Like re.sub with a two-character pattern: leftmost matches without overlaps, so a matched pair is skipped as a whole.
template <class First, class Second>
std::u32string space_pairs(std::u32string_view text, First first, Second second, Spaces spaces) {
  std::u32string result;
  result.reserve(text.size() * 2);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      result += text[i];
      continue;
    }
    if (spaces == Spaces::around_first) result += U' ';
    result += text[i];
    result += U' ';
    result += text[++i];
    if (spaces == Spaces::around_second) result += U' ';
  }
  return result;
}

template <class Match>
std::u32string space_around(std::u32string_view text, Match match) {
  std::u32string result;
  result.reserve(text.size() * 2);
  for (const char32_t c : text) {
    if (match(c)) {
      result.append({U' ', c, U' '});
    } else {
      result += c;
    }
  }
  return result;
}

std::u32string replace_all(std::u32string text, std::u32string_view from, std::u32string_view to);

// &quot; &amp; &lt; &gt; become characters, in this order: "&amp;lt;" ends as "<".
std::u32string unescape_sgml(std::u32string text);

// Spaces around ASCII symbols and punctuation except ' , - and .
std::u32string space_ascii_symbols(std::u32string_view text);

// Spaces around each comma and full stop that has no digit on at least one side, and around a dash after a digit.
// The text should begin and end with a space, because the rules look at pairs of characters.
std::u32string space_numbers(std::u32string_view text);

}  // namespace gyre
