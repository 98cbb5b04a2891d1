#include "gyre/data/tokenizer/wordpiece/wordpiece_training.h"

#include <algorithm>
#include <map>
#include <set>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/merge_learner.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/data/tokenizer/word_counts.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"

namespace gyre {
namespace {

using CountedWords = std::vector<std::pair<std::string, uint64_t>>;
using Characters = std::set<std::string, std::less<>>;  // UTF-8 sorts in the order of code points

Characters alphabet_of(const CountedWords& words, int limit) {
  std::map<std::string_view, uint64_t> counts;
  for (const auto& [word, count] : words) {
    for (const std::string_view character : split_characters(word)) counts[character] += count;
  }
  std::vector<std::pair<std::string_view, uint64_t>> ranked(counts.begin(), counts.end());
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (ranked.size() > size_t(limit)) ranked.resize(size_t(limit));
  Characters alphabet;
  for (const auto& entry : ranked) alphabet.emplace(entry.first);
  return alphabet;
}

// Adds the special pieces, the alphabet and its continuations, and the words whose characters are in the alphabet.
void add_characters(MergeLearner& learner, const CountedWords& words, int limit_alphabet) {
  const Characters alphabet = alphabet_of(words, limit_alphabet);
  std::vector<std::pair<std::vector<std::string_view>, uint64_t>> usable;
  Characters continuations;
  for (const auto& [word, count] : words) {
    auto characters = split_characters(word);
    if (!std::ranges::all_of(characters, [&](auto character) { return alphabet.contains(character); })) continue;
    for (size_t i = 1; i < characters.size(); ++i) continuations.emplace(characters[i]);
    usable.emplace_back(std::move(characters), count);
  }
  for (const std::string_view special : kBertSpecials) learner.id_of(std::string(special));
  for (const std::string& character : alphabet) learner.id_of(character);
  for (const std::string& character : continuations) learner.id_of("##" + character);
  std::vector<int32_t> ids;
  for (const auto& [characters, count] : usable) {
    ids.clear();
    for (const std::string_view character : characters)
      ids.push_back(learner.id_of((ids.empty() ? "" : "##") + std::string(character)));
    learner.add_word(ids, count);
  }
}

}  // namespace

std::vector<std::string> wordpiece_pieces(const CountedWords& words, const WordPieceMerges& options,
                                          const CountedWords& whole, const OnMerge& on_merge) {
  require(options.limit_alphabet >= 1, "[vocabulary] --limit-alphabet: expected at least 1 character, got ",
          options.limit_alphabet);
  MergeLearner learner(MergeLearner::Tie::smallest_ids, MergeLearner::Repeats::counted_anew);
  add_characters(learner, words, options.limit_alphabet);
  learner.queue_all_pairs();
  std::vector<std::string>& pieces = learner.symbols();
  const size_t first = pieces.size(), size = size_t(options.size);
  require(first <= size, "[vocabulary] --size: expected at least ", first,
          " pieces, the special ones and the characters, got ", options.size);
  const auto least = std::max<uint64_t>(options.min_frequency, 1);
  auto word = whole.begin();
  while (pieces.size() < size) {
    const MergeLearner::Candidate* const best = learner.most_frequent();
    const uint64_t count = best == nullptr ? 0 : uint64_t(best->count);
    if (word != whole.end() && word->second >= std::max(count, least)) {
      learner.id_of(word++->first);
    } else if (count >= least) {
      const SymbolPair& pair = learner.pair_of(*best);
      learner.merge(learner.id_of(pieces[size_t(pair.left)] + pieces[size_t(pair.right)].substr(2)));
    } else {
      break;
    }
    if (on_merge) on_merge(pieces.size() - first, size - first);
  }
  return std::move(pieces);
}

std::vector<LineReport> train_wordpiece(TextInputs files, const WordPieceTraining& options, const Path& output) {
  const std::optional<bool> setting = find_lower_case_setting(output.parent_path());
  require(setting.value_or(options.lower_case) == options.lower_case, "[vocabulary] ", output.string(),
          ": tokenizer_config.json in its folder says ",
          options.lower_case ? "cased, got --lower-case" : "lower case, got --cased");
  if (options.merges.size < 1 || options.merges.size > kMaxDimension)
    throw UsageError("[vocabulary] --size: expected 1 to ", kMaxDimension, " pieces, got ", options.merges.size);
  require_file_output(output, "vocabulary");  // not a pipe: tokenizer_config.json goes into the same folder
  const std::string names = files.describe();
  std::vector<LineReport> reports;
  const auto split = [&](std::string_view line, WordCounts& counts) {
    for (const std::string& word : bert_words(line, options.lower_case)) counts.add(word);
  };
  CountedWords words = count_words(std::move(files), options.text, split, reports);
  std::erase_if(words, [](const auto& word) { return split_characters(word.first).size() > kLongestBertWord; });
  require(!words.empty(), "[vocabulary] ", names, ": no usable word to train on");
  std::string content;
  for (const std::string& piece : wordpiece_pieces(words, options.merges, {}, options.text.on_merge))
    content += piece + "\n";
  if (!setting) write_tokenizer_config(output.parent_path(), "BertTokenizer", options.lower_case);
  write_file(output, content);
  return reports;
}

}  // namespace gyre
