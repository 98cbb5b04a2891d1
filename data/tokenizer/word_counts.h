// Counts the distinct words of text files on all threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gyre/data/text/line_report.h"
#include "gyre/data/tokenizer/string_hash.h"
#include "gyre/data/tokenizer/training_text.h"

namespace gyre {

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
