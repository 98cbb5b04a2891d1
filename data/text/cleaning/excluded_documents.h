// The documents of validation and test sets, whose text a training corpus must not contain.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/text/cleaning/ngram_index.h"
#include "gyre/data/text/document_text.h"

namespace gyre {

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

}  // namespace gyre
