#include "gyre/data/text/moses/language.h"

#include <algorithm>

#include "gyre/core/error.h"

namespace gyre {

namespace {

#include "gyre/data/text/moses/nonbreaking_prefixes.inc"

}  // namespace

MosesLanguage parse_moses_language(std::string_view name) {
  if (name == "en") return MosesLanguage::english;
  if (name == "de") return MosesLanguage::german;
  throw UsageError("[moses] language: expected en or de, got \"", name, "\"");
}

moses::Prefix moses::find_prefix(MosesLanguage language, std::u32string_view word) {
  if (language == MosesLanguage::german) {
    return std::ranges::binary_search(kGermanPrefixes, word) ? Prefix::always : Prefix::none;
  }
  if (std::ranges::binary_search(kEnglishPrefixes, word)) return Prefix::always;
  return std::ranges::binary_search(kEnglishNumericPrefixes, word) ? Prefix::before_number : Prefix::none;
}

}  // namespace gyre
