#include "gyre/train/metrics/bleu_tokenizer.h"

#include <unicode/uchar.h>

#include <array>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/train/metrics/code_points.h"
#include "gyre/train/metrics/mteval_rules.h"

namespace gyre {
namespace {

constexpr std::array<std::pair<BleuTokenizer, std::string_view>, 4> kNames{{
    {BleuTokenizer::v13a, "13a"},
    {BleuTokenizer::intl, "intl"},
    {BleuTokenizer::character, "char"},
    {BleuTokenizer::none, "none"},
}};

std::u32string tokenize_13a(std::u32string text) {
  text = replace_all(std::move(text), U"<skipped>", U"");
  text = replace_all(std::move(text), U"-\n", U"");
  text = replace_all(std::move(text), U"\n", U" ");
  text = unescape_sgml(std::move(text));
  return space_numbers(space_ascii_symbols(U' ' + text + U' '));
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
