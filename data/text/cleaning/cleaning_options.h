// The filters of gyre data clean and the reasons for which it drops a pair.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/file.h"
#include "gyre/data/text/cleaning/near_duplicates.h"
#include "gyre/data/text/document_text.h"

namespace gyre {

// A dropped pair is counted under the first reason that applies, in this order. The rules of min_length to
// max_characters are those of Moses's clean-corpus-n.perl.
enum class DropReason : uint8_t {
  unpaired,      // line of the longer file without a partner in the shorter one
  invalid_utf8,  // a fault of either side, as the reasons below
  empty,         // only white space
  max_bytes,
  min_length,
  max_length,
  max_ratio,
  max_characters,
  same_text,
  excluded,
  duplicate,
  near_duplicate,
};

template <>
inline constexpr std::pair<DropReason, std::string_view> kEnumNames<DropReason>[] = {
    {DropReason::unpaired, "unpaired"},     {DropReason::invalid_utf8, "invalid-utf8"},
    {DropReason::empty, "empty"},           {DropReason::max_bytes, "max-bytes"},
    {DropReason::min_length, "min-length"}, {DropReason::max_length, "max-length"},
    {DropReason::max_ratio, "max-ratio"},   {DropReason::max_characters, "max-characters"},
    {DropReason::same_text, "same-text"},   {DropReason::excluded, "excluded"},
    {DropReason::duplicate, "duplicate"},   {DropReason::near_duplicate, "near-duplicate"}};

// The filters of a corpus of documents apply to whole documents. Lengths are numbers of words between white space, or
// what `length_of` counts; 0 turns a limit off, and a value equal to the limit passes.
struct CleaningOptions {
  // How one file of a side is cut into documents; nullopt: its rows are lines. JSON lines are documents in any case.
  std::optional<DocumentFormat> documents = std::nullopt;
  std::function<uint64_t(std::string_view text)> length_of = {};  // tokens; thread-safe
  uint64_t min_length = 1, max_length = 0;
  double max_ratio = 0;         // limit of the ratio of the lengths, longer to shorter
  uint64_t max_characters = 0;  // limit of a word
  uint64_t max_bytes = 0;       // limit of a line
  bool drop_same_text = false;  // drops pairs whose sides are equal up to white space
  // Test sets. A pair is dropped if either side equals a line of them (fold_line()), a document if it shares a run of
  // excluded_words words with one of theirs (NgramIndex).
  std::vector<Path> excluded;
  uint64_t excluded_words = 13;
  bool remove_duplicates = false;        // drops pairs equal to one that was kept before, as they are written
  NearDuplicateOptions near_duplicates;  // drops documents that resemble one that was kept before
  bool drop_unpaired = false;            // instead of an Error
  bool normalize_whitespace = false;     // writes lines with squeezed white space
  bool remove_pipes = false;   // deletes every '|' first, as clean-corpus-n.perl does if the first pair has none
  uint64_t holdout_every = 0;  // every Nth pair of the input is held out, before all filters

  // Throws UsageError for an invalid value. sides: 2, or 1 for a monolingual corpus.
  void validate(int sides) const;
};

}  // namespace gyre
