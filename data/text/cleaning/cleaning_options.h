// The filters of gyre data clean and the reasons for which it drops a pair.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/file.h"

namespace gyre {

// A dropped pair is counted under the first reason that applies, in this order. The rules of min_length to
// max_characters are those of Moses's clean-corpus-n.perl.
enum class DropReason : uint8_t {
  unpaired,      // line of the longer file without a partner in the shorter one
  invalid_utf8,  // on either side, as the reasons below
  empty,         // only white space
  max_bytes,
  min_length,
  max_length,
  max_ratio,
  max_characters,
  same_text,
  excluded,
  duplicate,
};

template <>
inline constexpr std::pair<DropReason, std::string_view> kEnumNames<DropReason>[] = {
    {DropReason::unpaired, "unpaired"},     {DropReason::invalid_utf8, "invalid-utf8"},
    {DropReason::empty, "empty"},           {DropReason::max_bytes, "max-bytes"},
    {DropReason::min_length, "min-length"}, {DropReason::max_length, "max-length"},
    {DropReason::max_ratio, "max-ratio"},   {DropReason::max_characters, "max-characters"},
    {DropReason::same_text, "same-text"},   {DropReason::excluded, "excluded"},
    {DropReason::duplicate, "duplicate"}};

// Lengths are numbers of words between white space; 0 turns a limit off, and a value equal to the limit passes.
struct CleaningOptions {
  uint64_t min_length = 1, max_length = 0;
  double max_ratio = 0;               // of the lengths, longer to shorter
  uint64_t max_characters = 0;        // of a word
  uint64_t max_bytes = 0;             // of a line
  bool drop_same_text = false;        // drops pairs whose sides are equal up to white space
  std::vector<Path> excluded;         // test sets; a pair is dropped if either side equals a line of them (fold_line())
  bool remove_duplicates = false;     // drops pairs equal to one that was kept before, as they are written
  bool drop_unpaired = false;         // instead of an Error
  bool normalize_whitespace = false;  // writes lines with squeezed white space
  bool remove_pipes = false;          // deletes every '|' first, as clean-corpus-n.perl does if the first pair has none
  uint64_t holdout_every = 0;         // every Nth pair of the input is held out, before all filters

  // Throws UsageError for an invalid value. sides: 2, or 1 for a monolingual corpus.
  void validate(int sides) const;
};

}  // namespace gyre
