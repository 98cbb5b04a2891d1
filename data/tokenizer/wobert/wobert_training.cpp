#include "gyre/data/tokenizer/wobert/wobert_training.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/wobert/wobert_vocabulary.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace gyre {

namespace {

struct TrainingWords {
  CountedWords plain;  // words that WordPiece splits: of letters and digits, and single Chinese characters
  CountedWords whole;  // other words, most frequent first
};

TrainingWords separate(const CountedWords& words, bool lower_case) {
  std::vector<WordCounts> plain(1);
  CountedWords whole;
  for (const auto& [word, count] : words) {
    const std::vector<std::string> parts = bert_words(word, lower_case);
    for (const std::string& part : parts) {
      if (count_characters(part) <= kLongestBertWord) plain.front().add(part, count);
    }
    if (parts.size() > 1) whole.emplace_back(word, count);
  }
  std::stable_sort(whole.begin(), whole.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return {WordCounts::merge(std::move(plain)), std::move(whole)};
}

}  // namespace

std::vector<LineReport> train_wobert(TextInputs files, const Path& dictionary, const WobertTraining& options,
                                     const Path& output) {
  if (options.merges.size < 1 || options.merges.size > kMaxDimension)
    throw UsageError("[vocabulary] --size: expected 1 to ", kMaxDimension, " pieces, got ", options.merges.size);
  std::string entries = read_file(dictionary);
  const JiebaSegmenter segmenter(dictionary.string(), entries);
  const std::string names = files.describe();
  std::vector<LineReport> reports;
  const auto split = [&](std::string_view line, WordCounts& counts) {
    const std::string lowered = options.lower_case ? lower_without_accents(line) : std::string(line);
    for (const std::string_view word : segmenter.cut(lowered)) counts.add(word);
  };
  const TrainingWords words = separate(count_words(std::move(files), options.text, split, reports), options.lower_case);
  require(!words.plain.empty(), "[vocabulary] ", names, ": no usable word to train on");
  std::string pieces;
  for (const std::string& piece : wordpiece_pieces(words.plain, options.merges, words.whole, options.text.on_merge))
    pieces += piece + "\n";
  WobertVocabulary(output.string(), wobert_bundle(std::move(pieces), options.lower_case, std::move(entries)))
      .save(output);
  return reports;
}

}  // namespace gyre
