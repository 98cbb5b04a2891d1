#include "gyre/train/metrics/bleu_tokenizer.h"

#include <unicode/uchar.h>

#include <array>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/train/metrics/code_points.h"

namespace gyre {
namespace {

constexpr std::array<std::pair<BleuTokenizer, std::string_view>, 4> kNames{{
    {BleuTokenizer::v13a, "13a"},
    {BleuTokenizer::intl, "intl"},
    {BleuTokenizer::character, "char"},
    {BleuTokenizer::none, "none"},
}};

// The position of the space that a substitution inserts next to its two matched characters.
enum class Spaces { around_first, around_second, between };

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

std::u32string replace_all(std::u32string text, std::u32string_view from, std::u32string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::u32string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

bool is_13a_symbol(char32_t c) {
  return (c >= U'{' && c <= U'~') || (c >= U'[' && c <= U'`') || (c >= U' ' && c <= U'&') || (c >= U'(' && c <= U'+') ||
         (c >= U':' && c <= U'@') || c == U'/';
}

std::u32string tokenize_13a(std::u32string text) {
  text = replace_all(std::move(text), U"<skipped>", U"");
  text = replace_all(std::move(text), U"-\n", U"");
  text = replace_all(std::move(text), U"\n", U" ");
  // The order matters: "&amp;lt;" ends as "<".
  text = replace_all(std::move(text), U"&quot;", U"\"");
  text = replace_all(std::move(text), U"&amp;", U"&");
  text = replace_all(std::move(text), U"&lt;", U"<");
  text = replace_all(std::move(text), U"&gt;", U">");

  const auto digit = [](char32_t c) { return c >= U'0' && c <= U'9'; };
  const auto not_digit = [&](char32_t c) { return !digit(c); };
  const auto stop = [](char32_t c) { return c == U'.' || c == U','; };
  const auto dash = [](char32_t c) { return c == U'-'; };
  text = space_around(U' ' + text + U' ', is_13a_symbol);
  text = space_pairs(text, not_digit, stop, Spaces::around_second);
  text = space_pairs(text, stop, not_digit, Spaces::around_first);
  return space_pairs(text, digit, dash, Spaces::around_second);
}

std::u32string tokenize_intl(std::u32string_view text) {
  const auto punctuation = [](char32_t c) { return (U_GET_GC_MASK(UChar32(c)) & U_GC_P_MASK) != 0; };
  const auto symbol = [](char32_t c) { return (U_GET_GC_MASK(UChar32(c)) & U_GC_S_MASK) != 0; };
  const auto not_number = [](char32_t c) { return (U_GET_GC_MASK(UChar32(c)) & U_GC_N_MASK) == 0; };
  std::u32string result = space_pairs(text, not_number, punctuation, Spaces::around_second);
  result = space_pairs(result, punctuation, not_number, Spaces::around_first);
  return space_around(result, symbol);
}

}  // namespace

BleuTokenizer bleu_tokenizer(std::string_view name) {
  for (const auto& [tokenizer, known] : kNames) {
    if (name == known) return tokenizer;
  }
  throw Error("[bleu] expected the tokenizer 13a, intl, char or none, got ", name);
}

std::string_view name(BleuTokenizer tokenizer) {
  for (const auto& [known, text] : kNames) {
    if (tokenizer == known) return text;
  }
  throw Error("[bleu] unknown tokenizer number ", int(tokenizer));
}

std::vector<std::u32string> bleu_tokens(std::string_view line, BleuTokenizer tokenizer, bool lower) {
  std::u32string text = code_points(line);
  if (lower) text = lowercase(text);
  text = strip_right(text);
  switch (tokenizer) {
    case BleuTokenizer::v13a:
      return split_words(tokenize_13a(std::move(text)));
    case BleuTokenizer::intl:
      return split_words(tokenize_intl(text));
    case BleuTokenizer::character:
      return split_words(space_around(text, [](char32_t) { return true; }));
    case BleuTokenizer::none:
      return split_words(text);
  }
  throw Error("[bleu] unknown tokenizer number ", int(tokenizer));
}

}  // namespace gyre
