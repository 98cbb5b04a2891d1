// Cleans a parallel or monolingual corpus: writes the pairs, lines or documents that pass all filters, and counts and
// lists the others.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gyre/data/text/cleaning/cleaning_options.h"

namespace gyre {

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
