// The tokenizers of BLEU, equal to sacreBLEU's: scores are only comparable when both sides were cut by the same one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

enum class BleuTokenizer {
  k13a,   // mteval-v13a: ASCII punctuation and symbols; the figure that papers quote
  kIntl,  // mteval-v14 international: Unicode punctuation and symbols
  kChar,  // every code point
  kNone,  // white space only: for text that is tokenized already
};

// "13a", "intl", "char", "none", as sacreBLEU's --tokenize spells them; another name throws.
BleuTokenizer bleu_tokenizer(std::string_view name);
std::string_view name(BleuTokenizer tokenizer);

// Strips white space on the right, lowercases when asked (before the cut, as sacreBLEU does), and tokenizes.
std::vector<std::u32string> bleu_tokens(std::string_view line, BleuTokenizer tokenizer, bool lowercase);

}  // namespace gyre
