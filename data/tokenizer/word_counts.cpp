#include "gyre/data/tokenizer/word_counts.h"

#include <algorithm>
#include <utility>

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/parallel_for.h"
#include "gyre/data/text/document_text.h"

namespace gyre {
namespace {

constexpr size_t kTextsPerThread = 2048, kBytesPerThread = size_t{8} << 20;  // limits of a chunk

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

CountedWords count_words(TextInputs files, const TrainingText& options,
                         const std::function<void(std::string_view text, WordCounts& counts)>& split,
                         std::vector<LineReport>& reports) {
  std::vector<WordCounts> counts(static_cast<size_t>(threads()));  // one per thread
  const size_t most = kTextsPerThread * counts.size(), most_bytes = kBytesPerThread * counts.size();
  std::vector<std::string> texts;
  DocumentText text(std::move(files), options.format(), options.on_bad_line);
  do {
    texts.clear();
    size_t bytes = 0;
    for (DocumentPart part; texts.size() < most && bytes < most_bytes && text.next(part);) {
      bytes += part.text.size();
      texts.push_back(std::move(part.text));
    }
    parallel_for(counts.size(), 1, [&](size_t slot) {
      for (size_t i = slot; i < texts.size(); i += counts.size()) split(texts[i], counts[slot]);
    });
    if (options.on_progress) options.on_progress(text.file_bytes_read(), text.file_bytes());
  } while (!texts.empty());
  reports.insert(reports.end(), text.reports().begin(), text.reports().end());
  return WordCounts::merge(std::move(counts));
}

}  // namespace gyre
