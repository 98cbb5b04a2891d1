// How the trainings of vocabularies read their text, and the distinct words of text files, counted on all threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gyre/data/text/document_text.h"
#include "gyre/data/text/line_report.h"

namespace gyre {

// Takes the merges that were learned so far, and the most that there can be.
using OnMerge = std::function<void(uint64_t merges, uint64_t most)>;

// Options of how a training reads its text. By default, every line is a text by itself, and so is every line of the
// texts in JSON lines.
struct TrainingText {
  DocumentEnd end = DocumentEnd::line;
  LineEnds line_ends = LineEnds::none;
  std::string text_field = "text";  // field of JSON lines
  OnBadLine on_bad_line = OnBadLine::by_kind;
  // Takes the bytes of the files that were read, and all of them, or 0 if their number is unknown.
  std::function<void(uint64_t bytes, uint64_t all)> on_progress{};
  OnMerge on_merge{};  // report after the text was read; SentencePiece has none

  // Long documents are read in parts, so that threads share them.
  DocumentFormat format() const {
    return {.end = end, .line_ends = line_ends, .text_field = text_field, .part_bytes = size_t{1} << 20};
  }
};

// A hash for maps with string keys that allows lookup by std::string_view.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

using CountedWords = std::vector<std::pair<std::string, uint64_t>>;  // distinct words with their counts

class WordCounts {
 public:
  void add(std::string_view word, uint64_t count = 1);
  // Adds the counts of several sets of words, which it empties. The words are sorted, so their order does not depend on
  // the sets.
  static CountedWords merge(std::vector<WordCounts> counts);

 private:
  std::unordered_map<std::string, uint64_t, StringHash, std::equal_to<>> counts_;
};

// Counts the words of all texts. `split` adds the words of one text; it is called from several threads. Appends one
// report per file to `reports`. The result is sorted and does not depend on the number of threads.
CountedWords count_words(TextInputs files, const TrainingText& options,
                         const std::function<void(std::string_view text, WordCounts& counts)>& split,
                         std::vector<LineReport>& reports);

}  // namespace gyre
