// Checks the data of a language model before a run: what is wrong with the text, which documents are repeated, and what
// held-out sets share with the training set.
#pragma once

#include <string>
#include <vector>

#include "gyre/data/checking/checked_rows.h"
#include "gyre/data/checking/finding.h"
#include "gyre/data/text/cleaning/corpus_reader.h"
#include "gyre/data/text/cleaning/text_comparison.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

struct DocumentCheckOptions {
  std::vector<Path> train, valid;        // text files; valid may be empty
  std::vector<Path> tests;               // a test set each
  DocumentFormat format;                 // format of all these files; JSON lines are recognized
  NearDuplicateOptions near_duplicates;  // similarity 0: none are looked for
  size_t overlap_words = 13;             // length of the runs of words that held-out sets must not share (NgramIndex)
};

// Counts documents or lines and keeps the places of the first ones: "books.txt:12".
struct PlaceList {
  uint64_t count = 0;
  std::vector<std::string> first;

  void add(const std::string& place);
};

struct DocumentSet {
  SetRole role = SetRole::train;
  std::string name;               // "training set"
  std::vector<LineReport> files;  // lines that were read and skipped
  uint64_t documents = 0, bytes = 0;
  std::array<PlaceList, kLineFaults> faults;  // places of lines with each fault
  PlaceList separators;           // lines that are a special token of other vocabularies and no piece of this one
  std::string separator;          // the first of these lines
  PlaceList duplicates;           // documents equal to an earlier one
  PlaceList near_duplicates;      // documents that resemble an earlier one and are not equal to one
  std::vector<uint64_t> lengths;  // length of each document in tokens, or in words without a vocabulary
  uint64_t tokens = 0, unknown = 0;
};

// Documents of a held-out set that share a run of words with another set.
struct DocumentOverlap {
  size_t held_out = 0, other = 0;     // indices of the sets
  uint64_t documents = 0;             // documents of the held-out set with any run of the other one
  double share = 0;                   // share of all runs of the held-out set
  std::vector<std::string> examples;  // "test.txt:3 = train.txt:812"
};

struct DocumentCheck {
  std::vector<DocumentSet> sets;  // training, validation, tests
  std::vector<DocumentOverlap> overlaps;
  bool has_tokens = false;  // lengths are tokens
  std::vector<Finding> findings;
};

// vocabulary: null to count words. Throws Error if a file cannot be read. Everything else that is wrong is a finding.
DocumentCheck check_documents(const DocumentCheckOptions& options, const Vocabulary* vocabulary);

// The length below which a share of the documents is, or which it has: 0.5 is the median. 0 if there are none.
uint64_t length_percentile(const DocumentSet& set, double share);

}  // namespace gyre
