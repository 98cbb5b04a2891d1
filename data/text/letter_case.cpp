#include "gyre/data/text/letter_case.h"

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include "gyre/data/text/utf8.h"

namespace gyre {

std::string upper_case(const std::string& text) {
  std::string result;
  return icu::UnicodeString::fromUTF8(text).toUpper(icu::Locale::getRoot()).toUTF8String(result);
}

std::string lower_case(const std::string& text) {
  std::string result;
  return icu::UnicodeString::fromUTF8(text).toLower(icu::Locale::getRoot()).toUTF8String(result);
}

std::string capitalized(const std::string& text) {
  if (text.empty()) return {};
  const icu::Locale& root = icu::Locale::getRoot();
  const size_t size = split_characters(text).front().size();
  auto first = icu::UnicodeString::fromUTF8(text.substr(0, size));
  first.toTitle(nullptr, root);
  auto all = icu::UnicodeString::fromUTF8(text);  // the form of a letter depends on the letters before it
  all.toLower(root);
  const auto lower = icu::UnicodeString::fromUTF8(text.substr(0, size)).toLower(root);
  std::string result;
  return first.append(all.tempSubString(lower.length())).toUTF8String(result);
}

}  // namespace gyre
