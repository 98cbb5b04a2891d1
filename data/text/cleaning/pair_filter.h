// Decides for each pair of lines, or for each document, whether it stays in a corpus.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "gyre/data/text/cleaning/cleaning_options.h"
#include "gyre/data/text/cleaning/excluded_documents.h"
#include "gyre/data/text/cleaning/excluded_lines.h"
#include "gyre/data/text/cleaning/text_hash.h"

namespace gyre {

struct FilteredPair {
  std::optional<DropReason> reason;     // empty: the pair stays, unless it is a duplicate
  int side = 0;                         // the side at fault, where it is only one
  std::string detail;                   // text for the report: "target 260 words"
  size_t excluded_file = 0;             // index of the test set, if the reason is `excluded`
  TextHash hash;                        // hash of the pair as it is written, if duplicates are removed
  std::vector<uint64_t> words;          // words of a document that stays (compared_words()), if they are compared
  NearDuplicates::Signature signature;  // signature of a document, if near-duplicates are removed
};

class PairFilter {
 public:
  // sides: 2, or 1 for a monolingual corpus. documents: that of its rows, or nullopt for lines. Reads the test sets.
  PairFilter(const CleaningOptions& options, int sides, const std::optional<DocumentFormat>& documents);

  // Replaces the lines by the form in which they are written, and applies all filters but those of whole files
  // (unpaired, duplicate, near_duplicate). Thread-safe.
  FilteredPair apply(std::array<std::string, 2>& text) const;
  // The form in which a line or a document is written.
  std::string written(std::string text) const;

 private:
  bool is_invalid(const std::array<std::string, 2>& text, FilteredPair& result) const;
  bool has_bad_lengths(const std::array<std::string, 2>& text, FilteredPair& result) const;
  bool has_same_text(const std::array<std::string, 2>& text, FilteredPair& result) const;
  bool is_excluded(const std::array<std::string, 2>& text, FilteredPair& result) const;
  bool is_excluded_document(FilteredPair& result) const;

  CleaningOptions options_;
  size_t sides_;
  ExcludedLines excluded_;
  std::optional<ExcludedDocuments> excluded_documents_;  // held-out documents, for a corpus of documents
};

}  // namespace gyre
