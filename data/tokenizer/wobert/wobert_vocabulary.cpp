#include "gyre/data/tokenizer/wobert/wobert_vocabulary.h"

#include <unicode/bytestream.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "gyre/core/error.h"

namespace gyre {

WobertVocabulary::WobertVocabulary(const std::string& name, const VocabularyBundle& bundle,
                                   const std::string& dictionary_name)
    : WordPieceVocabulary(name, bundle), segmenter_(dictionary_name, bundle.part(name, "dictionary")) {}

void WobertVocabulary::encode_plain(std::string_view text, std::vector<int32_t>& ids) const {
  const std::string lowered = lower_case() ? lower_without_accents(text) : std::string(text);
  for (const std::string_view word : segmenter_.cut(lowered)) {
    const int32_t id = find(word);
    if (id >= 0) {
      ids.push_back(id);
    } else {
      WordPieceVocabulary::encode_plain(word, ids);
    }
  }
}

VocabularyBundle wobert_bundle(std::string vocabulary, bool lower_case, std::string dictionary) {
  VocabularyBundle bundle{.kind = "wobert"};
  bundle.options = {{"lower_case", lower_case}};
  bundle.parts = {{"dictionary", std::move(dictionary)}, {"vocabulary", std::move(vocabulary)}};
  return bundle;
}

std::shared_ptr<const Vocabulary> make_wobert_vocabulary(const std::string& name, const Vocabulary& pieces,
                                                         const Path& dictionary) {
  const auto* wordpiece = dynamic_cast<const WordPieceVocabulary*>(&pieces);
  require(wordpiece != nullptr, "[vocabulary] ", name, ": expected BERT's vocab.txt for the tokenizer wobert, got a ",
          "vocabulary of kind ", pieces.kind());
  return std::make_shared<WobertVocabulary>(
      name, wobert_bundle(wordpiece->lines(), wordpiece->lower_case(), read_file(dictionary)), dictionary.string());
}

std::string lower_without_accents(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfd = icu::Normalizer2::getNFDInstance(status);
  require(U_SUCCESS(status), "[vocabulary] ICU has no NFD: ", u_errorName(status));
  icu::UnicodeString lowered = icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), int32_t(text.size())));
  lowered.toLower(icu::Locale::getRoot());
  const icu::UnicodeString decomposed = nfd->normalize(lowered, status);
  require(U_SUCCESS(status), "[vocabulary] ICU cannot normalize: ", u_errorName(status));
  icu::UnicodeString kept;
  for (int32_t i = 0; i < decomposed.length(); i = decomposed.moveIndex32(i, 1)) {
    const UChar32 c = decomposed.char32At(i);
    if (u_charType(c) != U_NON_SPACING_MARK) kept.append(c);
  }
  std::string plain;
  kept.toUTF8String(plain);
  return plain;
}

}  // namespace gyre
