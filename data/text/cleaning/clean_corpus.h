// Cleans a parallel or monolingual corpus: writes the pairs, lines or documents that pass all filters, and counts and
// lists the others.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/file.h"
#include "gyre/data/text/cleaning/text_comparison.h"
#include "gyre/data/text/document_text.h"

namespace gyre {

// The reasons for which gyre data clean drops a pair. A dropped pair is counted under the first reason that applies, in
// this order. The rules of min_length to max_characters are those of Moses's clean-corpus-n.perl.
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

// A monolingual corpus has no targets, output_target or holdout_target.
struct CleaningFiles {
  std::vector<Path> sources, targets;  // read in order as one corpus
  Path output_source, output_target;
  Path holdout_source, holdout_target;  // outputs of CleaningOptions::holdout_every
  Path report;                          // empty: none

  int sides() const { return targets.empty() ? 1 : 2; }
  // Throws UsageError if an output is missing or one too many, or is also an input or another output.
  void validate(const CleaningOptions& options) const;
};

struct CleaningSummary {
  struct Input {
    Path source, target;
    uint64_t pairs = 0;
  };
  std::vector<Input> inputs;
  uint64_t bytes = 0;                // bytes of the input, without line ends
  uint64_t pairs = 0, unpaired = 0;  // counts of the input
  uint64_t kept = 0, held_out = 0;
  std::array<uint64_t, std::size(kEnumNames<DropReason>)> dropped{};  // counts by reason
  std::vector<uint64_t> excluded;                                     // pairs dropped because of each test set

  bool has_documents = false;       // pairs are documents
  std::vector<LineReport> reports;  // reports on the files of documents
  uint64_t boundaries = 0;          // lines of a monolingual corpus that end documents

  uint64_t rows() const { return pairs + unpaired; }
};

// The outputs do not depend on the number of threads. They appear together at the end or, if there is an Error, not at
// all: every byte of them is written before the first one replaces its file. Memory does not grow with the corpus, but
// for 32 to 64 bytes per pair that is kept if duplicates are removed, and for what NearDuplicates and NgramIndex need.
// Documents are written with a blank line or their separator between them, or one per line if documents end with the
// line. If an input is JSON lines, or the name of the output ends in .jsonl, the output is JSON lines, with the other
// fields of those that were read. In a monolingual corpus of lines, a line that ends a document (blank, or
// is_document_separator()) is no line to filter: it is written between the kept lines around it.
// The report has a line for each dropped pair: its number, file, line, reason and detail, separated by tabs. The
// number of a line without a partner is "-".
CleaningSummary clean_corpus(const CleaningFiles& files, const CleaningOptions& options);

}  // namespace gyre
