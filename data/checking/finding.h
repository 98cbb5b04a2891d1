// Findings about data: what is wrong, how bad it is, and the faults of lines.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/error.h"

namespace gyre {

enum class Severity : uint8_t { ok, warning, error };

struct Finding {
  Severity severity = Severity::ok;
  std::string topic;                  // subject of the check: "overlap"
  std::string text;                   // a sentence with numbers
  std::vector<std::string> examples;  // "train.de:12", "test.de:3 = train.de:812"
};

// Counts lines and keeps the numbers of the first ones.
struct LineList {
  static constexpr size_t kKept = 5;
  uint64_t count = 0;
  std::vector<uint64_t> first;  // numbers of lines, from 1

  void add(uint64_t line) {
    ++count;
    if (first.size() < kKept) first.push_back(line);
  }
};

// Shares of a fault in a set above which a finding is a warning or an error.
struct Limits {
  double warning, error;
};
inline constexpr double kNever = 2;
// Shares of unknown pieces; an error means that the vocabulary is of another text.
inline constexpr Limits kUnknown{0.001, 0.1};

inline double share_of(uint64_t count, uint64_t all) { return all == 0 ? 0 : double(count) / double(all); }

inline std::string percent(double share) {
  const double value = share * 100;
  return concat(value > 0 && value < 0.001 ? 0.001 : std::round(value * 1000) / 1000, " %");
}

inline Severity severity_of(double share, const Limits& limits) {
  if (share > limits.error) return Severity::error;
  return share > limits.warning ? Severity::warning : Severity::ok;
}

// A fault in the encoding of a line of text.
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
