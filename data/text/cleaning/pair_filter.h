// Decides for each pair of lines, or for each document, whether it stays in a corpus.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/text/cleaning/cleaning_options.h"
#include "gyre/data/text/cleaning/ngram_index.h"
#include "gyre/data/text/cleaning/text_hash.h"
#include "gyre/data/text/document_text.h"

namespace gyre {
// The documents of validation and test sets, whose text a training corpus must not contain.
class ExcludedDocuments {
 public:
  struct Place {
    size_t file = 0;  // index of the file of the first document that has the words
    uint64_t line = 0;
    uint64_t words = 0;  // number of words that both have in this order
  };

  // words: the length of the runs that are looked for (NgramIndex). Throws Error if a file cannot be read, is not UTF-8
  // or has JSON lines without a text.
  ExcludedDocuments(const std::vector<Path>& files, const DocumentFormat& format, size_t words);
  bool empty() const { return places_.empty(); }
  // The place of the first run of words (compared_words()) that is excluded. Thread-safe.
  std::optional<Place> find(std::span<const uint64_t> words) const;

 private:
  NgramIndex index_;
  std::vector<Place> places_;  // place of each text of the index
};

// The lines of test sets, which a training corpus must not contain.

// Compares lines by fold_line(). Blank lines are ignored.
class ExcludedLines {
 public:
  struct Place {
    size_t file = 0;  // of the first file that has the line
    uint64_t line = 0;
  };

  // remove_pipes: deletes every '|' of the files, for texts that have lost theirs. Throws Error if a file cannot be
  // read or is not UTF-8.
  ExcludedLines(std::vector<Path> files, bool remove_pipes);
  bool empty() const { return places_.empty(); }
  const std::vector<Path>& files() const { return files_; }
  // The place of an equal line. The text must be valid UTF-8. Thread-safe.
  std::optional<Place> find(std::string_view text) const;

 private:
  void read(size_t file);

  std::vector<Path> files_;
  bool remove_pipes_;
  std::unordered_map<std::string, Place> places_;
};

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
