// BERT's basic tokenizer, which splits text into words before WordPiece.
#include "gyre/data/tokenizer/hugging_face/normalizer.h"
#include "gyre/data/tokenizer/hugging_face/pre_tokenizer.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"

namespace gyre {

std::vector<std::string> bert_words(std::string_view text, bool lower_case) {
  static const Normalizer cased({{"type", "BertNormalizer"}, {"lowercase", false}}, "[wordpiece] "),
      lower({{"type", "BertNormalizer"}, {"lowercase", true}}, "[wordpiece] ");
  static const PreTokenizer pre_tokenizer({{"type", "BertPreTokenizer"}}, "[wordpiece] ");
  std::vector<std::string> words;
  pre_tokenizer.split(lower_case ? lower(text) : cased(text), true,
                      [&](std::string_view word, bool) { words.emplace_back(word); });
  return words;
}

}  // namespace gyre
