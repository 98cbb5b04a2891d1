#include "gyre/data/text/cleaning/whitespace.h"

#include <unicode/ucasemap.h>

#include <algorithm>

#include "gyre/core/error.h"

namespace gyre {

namespace {

// Calls word(begin, end) for each word.
template <class F>
void for_each_word(std::string_view text, F&& word) {
  size_t begin = 0, at = 0;
  while (at < text.size()) {
    const auto byte = uint8_t(text[at]);
    const bool may_be_space = byte <= ' ' || byte >= 0xC2;
    const size_t space = may_be_space ? whitespace_bytes(text, at) : 0;
    if (space == 0) {
      ++at;
      continue;
    }
    if (at > begin) word(begin, at);
    begin = at += space;
  }
  if (at > begin) word(begin, at);
}

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return uint8_t(c) >= 0x80; });
}

const UCaseMap* case_map() {
  static const UCaseMap* const map = [] {
    UErrorCode status = U_ZERO_ERROR;
    const UCaseMap* opened = ucasemap_open("", U_FOLD_CASE_DEFAULT, &status);
    require(U_SUCCESS(status) != 0, "[data] ICU: case folding is not available: ", u_errorName(status));
    return opened;
  }();
  return map;
}

}  // namespace

size_t whitespace_bytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? uint8_t(text[at + i]) : uint8_t{0}; };
  const uint8_t first = byte(0), second = byte(1), third = byte(2);
  if (first == ' ' || (first >= '\t' && first <= '\r')) return 1;
  if (first == 0xC2) return second == 0x85 || second == 0xA0 ? 2 : 0;
  if (first == 0xE1) return second == 0x9A && third == 0x80 ? 3 : 0;  // U+1680
  if (first == 0xE3) return second == 0x80 && third == 0x80 ? 3 : 0;  // U+3000
  if (first != 0xE2) return 0;
  if (second == 0x81) return third == 0x9F ? 3 : 0;  // U+205F
  if (second != 0x80) return 0;
  const bool is_quad_to_hair = third >= 0x80 && third <= 0x8A;                        // U+2000 to U+200A
  return is_quad_to_hair || third == 0xA8 || third == 0xA9 || third == 0xAF ? 3 : 0;  // U+2028, U+2029, U+202F
}

LineWords measure_words(std::string_view text) {
  LineWords counts;
  for_each_word(text, [&](size_t begin, size_t end) {
    ++counts.words;
    if (end - begin <= counts.longest) return;  // fewer bytes than the longest has characters
    const auto starts = std::count_if(text.begin() + std::ptrdiff_t(begin), text.begin() + std::ptrdiff_t(end),
                                      [](char c) { return (uint8_t(c) & 0xC0) != 0x80; });
    counts.longest = std::max(counts.longest, uint64_t(starts));
  });
  return counts;
}

std::string squeeze_whitespace(std::string_view text) {
  std::string squeezed;
  squeezed.reserve(text.size());
  for_each_word(text, [&](size_t begin, size_t end) {
    if (!squeezed.empty()) squeezed += ' ';
    squeezed.append(text, begin, end - begin);
  });
  return squeezed;
}

std::string fold_line(std::string_view text) {
  std::string line = squeeze_whitespace(text);
  if (is_ascii(line)) {
    for (char& c : line) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    return line;
  }
  require(line.size() <= size_t{1} << 30, "[data] a line of ", line.size(), " bytes is too long to fold its case");
  std::string folded(line.size() * 3, '\0');  // no character grows more than threefold
  UErrorCode status = U_ZERO_ERROR;
  const int32_t bytes =
      ucasemap_utf8FoldCase(case_map(), folded.data(), int32_t(std::min<size_t>(folded.size(), INT32_MAX)), line.data(),
                            int32_t(line.size()), &status);
  require(U_SUCCESS(status) != 0, "[data] ICU: case folding failed: ", u_errorName(status));
  folded.resize(size_t(bytes));
  return folded;
}

}  // namespace gyre
