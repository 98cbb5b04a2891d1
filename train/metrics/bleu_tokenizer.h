// The tokenizers of BLEU, equal to those of sacreBLEU. Scores are only comparable if they use the same tokenizer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

enum class BleuTokenizer {
  v13a,       // mteval-v13a: ASCII punctuation and symbols; the usual choice in papers
  intl,       // mteval-v14 international: Unicode punctuation and symbols
  character,  // every code point
  none,       // white space only, for tokenized text
};

// Parses "13a", "intl", "char" or "none", as in sacreBLEU's --tokenize. Throws for any other name.
BleuTokenizer bleu_tokenizer(std::string_view name);
std::string_view name(BleuTokenizer tokenizer);

// Strips white space on the right, lowercases on request (before tokenization, as in sacreBLEU), and tokenizes.
std::vector<std::u32string> bleu_tokens(std::string_view line, BleuTokenizer tokenizer, bool lowercase);

}  // namespace gyre
