#include <string>

#include "gyre/data/text/moses/moses_tokenizer.h"
#include "gyre/data/text/moses/punctuation.h"
#include "gyre/data/text/utf8.h"
#include "tests/fuzz/target.h"

using namespace gyre;

namespace {

void require_valid(const std::string& text) {
  if (first_invalid_utf8(text)) throw std::logic_error("invalid UTF-8: " + text);
}

}  // namespace

void read_input(std::string_view input) {
  for (const MosesLanguage language : enum_values<MosesLanguage>()) {
    const std::string tokens = MosesTokenizer(language, {.aggressive_hyphens = true}).tokenize(input);
    require_valid(tokens);
    require_valid(MosesDetokenizer(language).detokenize(tokens));
    require_valid(remove_non_printing(PunctuationNormalizer(language).normalize(input)));
  }
}
