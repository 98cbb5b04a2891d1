#include "gyre/data/tokenizer/subword_nmt/subword_nmt_training.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/parallel_for.h"
#include "gyre/core/sizes.h"
#include "gyre/data/tokenizer/dictionary_vocabulary.h"
#include "gyre/data/tokenizer/subword_nmt/merge_learning.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace gyre {

namespace {

// Counts the pieces of all words, and lists them as get-vocab of subword-nmt does.
std::string dictionary_of(const CountedWords& words, const SubwordNmt& segmenter) {
  std::vector<WordCounts> counts(static_cast<size_t>(threads()));  // one per thread
  parallel_for(counts.size(), 1, [&](size_t slot) {
    for (size_t i = slot; i < words.size(); i += counts.size()) {
      for (const std::string& piece : segmenter.segment_word(words[i].first)) counts[slot].add(piece, words[i].second);
    }
  });
  CountedWords pieces = WordCounts::merge(std::move(counts));
  std::stable_sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string dictionary;
  for (const auto& [piece, count] : pieces) dictionary += piece + " " + std::to_string(count) + "\n";
  return dictionary;
}

}  // namespace

std::vector<LineReport> train_subword_nmt(TextInputs files, const SubwordNmtTraining& options, const Path& output,
                                          const Path& codes_output) {
  if (options.merges < 1 || options.merges > uint64_t(kMaxDimension))
    throw UsageError("[vocabulary] --merges: expected 1 to ", kMaxDimension, ", got ", options.merges);
  if (options.min_frequency < 1) throw UsageError("[vocabulary] --min-frequency: expected at least 1, got 0");
  require_separator(options.separator);
  const std::string names = files.describe();
  std::vector<LineReport> reports;
  const auto split = [](std::string_view line, WordCounts& counts) {
    for (const std::string_view word : SubwordNmt::words(line)) counts.add(word);
  };
  const CountedWords words = count_words(std::move(files), options.text, split, reports);
  require(!words.empty(), "[vocabulary] ", names, ": no usable word to train on");
  const std::string codes = learn_merges(words, options.merges, options.min_frequency, options.text.on_merge);
  const std::string dictionary = dictionary_of(words, SubwordNmt("the merges", codes, options.separator));
  save_subword_nmt_vocabulary(codes, dictionary, options.threshold, options.separator, output);
  if (!codes_output.empty()) write_file(codes_output, codes);
  return reports;
}

}  // namespace gyre
