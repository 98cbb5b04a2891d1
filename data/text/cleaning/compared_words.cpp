#include "gyre/data/text/cleaning/compared_words.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <utility>

#include "gyre/core/random.h"

namespace gyre {

namespace {

constexpr uint64_t kNoWord = 0;

// The steps of FNV-1a, with whole characters instead of bytes.
uint64_t extended(uint64_t hash, uint32_t character) { return (hash ^ character) * 0x100000001B3; }

bool is_accent(UChar32 c) { return (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0; }

bool is_word_by_itself(UChar32 c) {
  const int32_t breaking = u_getIntPropertyValue(c, UCHAR_LINE_BREAK);
  return breaking == U_LB_IDEOGRAPHIC || breaking == U_LB_CONDITIONAL_JAPANESE_STARTER ||
         breaking == U_LB_COMPLEX_CONTEXT;
}

class Words {
 public:
  void add_ascii(uint8_t c) {
    if (c >= 'A' && c <= 'Z') c = uint8_t(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) return extend(c);
    end();
  }

  void add(UChar32 c) {
    if (c < 0 || (!u_isalnum(c) && !is_accent(c))) return end();
    const bool is_alone = is_word_by_itself(c);
    if (is_alone) end();
    extend(uint32_t(u_foldCase(c, U_FOLD_CASE_DEFAULT)));
    if (is_alone) end();
  }

  std::vector<uint64_t> finish() {
    end();
    return std::move(hashes_);
  }

 private:
  void extend(uint32_t c) { word_ = extended(word_ == kNoWord ? 0xCBF29CE484222325 : word_, c); }
  void end() {
    if (word_ != kNoWord) hashes_.push_back(mix(word_, 0));
    word_ = kNoWord;
  }

  uint64_t word_ = kNoWord;
  std::vector<uint64_t> hashes_;
};

}  // namespace

std::vector<uint64_t> compared_words(std::string_view text) {
  Words words;
  const auto size = int64_t(text.size());
  const char* const bytes = text.data();
  for (int64_t at = 0; at < size;) {
    if (uint8_t(bytes[at]) < 0x80) {
      words.add_ascii(uint8_t(bytes[at++]));
      continue;
    }
    UChar32 c = U_SENTINEL;
    U8_NEXT(bytes, at, size, c);
    words.add(c);
  }
  return words.finish();
}

}  // namespace gyre
