#include "gyre/train/metrics/text.h"

#include <unicode/locid.h>
#include <unicode/unistr.h>

namespace gyre {

std::u32string lowercase(std::u32string_view text) {
  auto lower = icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(text.data()), int32_t(text.size()));
  lower.toLower(icu::Locale::getRoot());
  std::u32string result(size_t(lower.countChar32()), U'\0');
  UErrorCode status = U_ZERO_ERROR;
  lower.toUTF32(reinterpret_cast<UChar32*>(result.data()), int32_t(result.size()), status);
  return result;
}

}  // namespace gyre
