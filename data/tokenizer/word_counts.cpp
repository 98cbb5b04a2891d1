#include "gyre/data/tokenizer/word_counts.h"

#include <algorithm>

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/parallel_for.h"
#include "gyre/data/text/parallel_text.h"

namespace gyre {

namespace {

constexpr size_t kLinesPerThread = 2048;  // lines per thread in a chunk

}  // namespace

void WordCounts::add(std::string_view word, uint64_t count) {
  const auto place = counts_.find(word);
  if (place != counts_.end()) {
    place->second += count;
  } else {
    counts_.emplace(word, count);
  }
}

CountedWords WordCounts::merge(std::vector<WordCounts> counts) {
  CountedWords words;
  if (counts.empty()) return words;
  auto& all = counts.front().counts_;
  for (size_t i = 1; i < counts.size(); ++i) {
    for (const auto& [word, count] : counts[i].counts_) all[word] += count;
    counts[i] = WordCounts();
  }
  words.reserve(all.size());
  while (!all.empty()) {
    auto node = all.extract(all.begin());
    words.emplace_back(std::move(node.key()), node.mapped());
  }
  std::sort(words.begin(), words.end());
  return words;
}

CountedWords count_words(const std::vector<Path>& files, OnBadLine on_bad_line,
                         const std::function<void(std::string_view line, WordCounts& counts)>& split,
                         std::vector<LineReport>& reports) {
  std::vector<WordCounts> counts(static_cast<size_t>(threads()));  // one per thread
  const size_t most = kLinesPerThread * counts.size();
  std::vector<std::string_view> lines;
  for (const Path& file : files) {
    ParallelText text({file}, on_bad_line);
    do {
      lines.clear();
      for (TextRow row; lines.size() < most && text.next(row);) lines.push_back(row.text[0]);
      parallel_for(counts.size(), 1, [&](size_t slot) {
        for (size_t i = slot; i < lines.size(); i += counts.size()) split(lines[i], counts[slot]);
      });
      text.report().kept += lines.size();
    } while (!lines.empty());
    reports.push_back(text.report());
  }
  return WordCounts::merge(std::move(counts));
}

}  // namespace gyre
