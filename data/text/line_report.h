// Bad lines in text files: their kinds, the policy (skip them or fail), and a report of the skipped lines.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"

namespace gyre {

// A pair is bad if either of its lines is bad. It is counted under the first kind that applies, in this order.
enum class BadLine : uint8_t {
  unpaired,  // line of the longer file without a partner in the shorter one
  bad_utf8,
  bad_json,     // not a JSON object with the expected texts
  bad_columns,  // row with another number of columns
  empty,        // only white space, or no ids after encoding
  bad_label,    // not one of the classes, or not a number
  too_long,     // length over the limit
};
inline constexpr size_t kBadLineKinds = 7;

// by_kind: skips empty and over-long lines; all other bad lines are errors.
enum class OnBadLine : uint8_t { by_kind, error, skip };
template <>
inline constexpr std::pair<OnBadLine, std::string_view> kEnumNames<OnBadLine>[] = {
    {OnBadLine::by_kind, "default"}, {OnBadLine::error, "error"}, {OnBadLine::skip, "skip"}};

bool is_blank(std::string_view text);  // whether the text is empty or only white space

// A line that is a whole JSON value, which text seldom is: an object with a key; an array of these or of strings, which
// counts as an object; or a string.
enum class JsonLine : uint8_t { none, object, string };
JsonLine json_in(std::string_view line);

struct LineReport {
  struct Skipped {
    uint64_t count = 0;
    std::vector<uint64_t> first_lines;  // line numbers (from 1) of the first five
    std::string first_place;            // "train.de:12: byte 7 (0xC3)"
  };

  std::string files;         // "train.en + train.de"
  std::string unit{"line"};  // "pair", "row" or "byte"
  std::string limit;         // limit for over-long lines, with its unit: "256 tokens"
  uint64_t bytes = 0;        // total size of the files
  uint64_t kept = 0, cropped = 0;
  std::string separator;         // a line of the text that looks like the end of a document and is read as text
  uint64_t separators = 0;       // the number of such lines
  uint64_t texts_with_ends = 0;  // lines or JSON objects with <|endoftext|> inside, which ends no document
  uint64_t lines_with_nul = 0, lines_with_return = 0;
  // Counts of the lines of a text: all of them, and those that are JSON.
  struct {
    uint64_t lines = 0, objects = 0, strings = 0, escapes = 0;  // escapes: of the strings, those with a backslash
    uint64_t first_object = 0, first_string = 0;                // line numbers
  } json;
  std::array<Skipped, kBadLineKinds> skipped;

  const Skipped& of(BadLine kind) const { return skipped[size_t(kind)]; }
  void skip(BadLine kind, uint64_t line, const std::string& place);
  // Counts JSON, NUL bytes and carriage returns in a line of the text.
  void look_at(std::string_view text, uint64_t line);
  // Call at the end of a text. Throws an Error if at least half of its lines are JSON: somebody meant them to be read.
  // Lines in quotes without an escape may also be speech.
  void require_no_json() const;
  // Throws an Error for the first kind that occurred and is an error under the policy, and names its first place. The
  // advice is for commands with the option --on-bad-line.
  void require_clean(OnBadLine policy, std::string_view advice = "; use --on-bad-line skip to skip bad lines") const;
  // "train.en + train.de: 29000 pairs, skipped 3 empty (lines 12, 40, 77), 1 over 256 tokens (line 900)"
  std::string describe() const;
};

}  // namespace gyre
