// Finds what is wrong with the encoding of a line of text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "gyre/core/enum_names.h"

namespace gyre {

enum class LineFault : uint8_t {
  invalid_utf8,
  blank,           // only white space
  nul,             // a NUL byte
  mark,            // a byte order mark (U+FEFF), except at the beginning of a file
  replacement,     // U+FFFD, which decoders write for bytes that they cannot decode
  double_encoded,  // UTF-8 that was taken for Latin-1 or Windows-1252 and encoded again
};

template <>
inline constexpr std::pair<LineFault, std::string_view> kEnumNames<LineFault>[] = {
    {LineFault::invalid_utf8, "invalid UTF-8"},
    {LineFault::blank, "only white space"},
    {LineFault::nul, "a NUL byte"},
    {LineFault::mark, "a byte order mark inside the file"},
    {LineFault::replacement, "U+FFFD, the mark of an earlier decoding error"},
    {LineFault::double_encoded, "characters that look encoded twice"}};
inline constexpr size_t kLineFaults = std::size(kEnumNames<LineFault>);

class LineFaults {
 public:
  bool has(LineFault fault) const { return faults_[size_t(fault)]; }
  // Whether training skips or rejects the line.
  bool is_unusable() const { return has(LineFault::invalid_utf8) || has(LineFault::blank); }

 private:
  friend LineFaults find_line_faults(std::string_view line);
  std::array<bool, kLineFaults> faults_{};
};

LineFaults find_line_faults(std::string_view line);

// Whether a text looks encoded twice: it has a lead byte of two-byte characters of European languages shown as Ã or Â
// and then a continuation byte shown as U+0080 to U+00BF or its character in Windows-1252 (Ã¼, ÃŸ), or the first bytes
// of quotation marks and dashes shown as â€.
bool looks_double_encoded(std::string_view text);

}  // namespace gyre
