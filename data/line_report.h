// Broken input: what counts as a bad line, whether it ends the work or is skipped, and the report of what was skipped.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

// A pair is bad when either of its lines is; a pair is counted under the first kind that applies, in this order.
enum class BadLine : uint8_t {
  unpaired,  // a line of the longer file without a partner in the shorter
  bad_utf8,
  missing_column,  // of a table
  empty,           // nothing but white space, or nothing left after encoding
  bad_label,       // none of the classes, or not a number
  too_long,        // over the limit
};
inline constexpr size_t kBadLineKinds = 6;

// by_kind: empty and over-long lines are skipped, all others are errors.
enum class OnBadLine : uint8_t { by_kind, error, skip };

bool is_blank(std::string_view text);                // what `empty` means before encoding
OnBadLine parse_on_bad_line(std::string_view text);  // "default", "error" or "skip"; else UsageError
bool is_error(OnBadLine policy, BadLine kind);

struct LineReport {
  struct Skipped {
    uint64_t count = 0;
    std::vector<uint64_t> first_lines;  // the numbers (from 1) of at most five of them
    std::string first_place;            // "train.de:12: byte 7 (0xC3)"
  };

  std::string files;         // "train.en + train.de"
  std::string unit{"line"};  // "pair", "row" or "byte"
  std::string limit;         // of over-long lines, with its unit: "256 tokens"
  uint64_t bytes = 0;        // of the files
  uint64_t kept = 0, cropped = 0;
  std::array<Skipped, kBadLineKinds> skipped;

  const Skipped& of(BadLine kind) const { return skipped[size_t(kind)]; }
  uint64_t total_skipped() const;
  void skip(BadLine kind, uint64_t line, const std::string& place);
  // Throws for the first kind that was met and is an error under the policy; the message names the first place.
  void require_clean(OnBadLine policy) const;
  // "train.en + train.de: 29000 pairs, skipped 3 empty (lines 12, 40, 77), 1 over 256 tokens (line 900)"
  std::string describe() const;
};

}  // namespace gyre
