#include "gyre/data/tokenizer/subword_nmt/subword_nmt_training.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/parallel_for.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/dictionary_vocabulary.h"
#include "gyre/data/tokenizer/merge_learner.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace gyre {
namespace {

constexpr std::string_view kSpaces[] = {
    "\t",           "\n",           "\v",           "\f",           "\r",           "\x1c",         "\x1d",
    "\x1e",         "\x1f",         "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81",
    "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88",
    "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};

bool ends_symbol(std::string_view before) {
  return before.empty() || before.ends_with(' ') ||
         std::any_of(std::begin(kSpaces), std::end(kSpaces), [&](auto space) { return before.ends_with(space); });
}

bool begins_symbol(std::string_view after) {
  return after.empty() || after.starts_with(' ') ||
         std::any_of(std::begin(kSpaces), std::end(kSpaces), [&](auto space) { return after.starts_with(space); });
}

}  // namespace

bool contains_space(std::string_view text) {
  return std::any_of(std::begin(kSpaces), std::end(kSpaces),
                     [&](auto space) { return text.find(space) != std::string_view::npos; });
}

std::vector<std::string> merge_in_spaced_word(const std::vector<std::string>& symbols, const std::string& left,
                                              const std::string& right) {
  std::string text;
  for (const std::string& symbol : symbols) text += (text.empty() ? "" : " ") + symbol;
  const std::string pair = left + " " + right;
  for (size_t at = text.find(pair); at != std::string::npos; at = text.find(pair, at)) {
    const std::string_view view = text;
    if (ends_symbol(view.substr(0, at)) && begins_symbol(view.substr(at + pair.size()))) {
      text.erase(at + left.size(), 1);
      at += pair.size() - 1;
    } else {
      ++at;
    }
  }
  std::vector<std::string> merged{""};
  for (const char c : text) c == ' ' ? void(merged.emplace_back()) : merged.back().push_back(c);
  return merged;
}

namespace {

// Follows learn_bpe.py in every detail that affects the result, including these:
// - The counts of a pair are not always the number of its occurrences. If a merge makes a symbol that its word already
//   contains (a bc, ab c), the neighbors of the old symbol are counted again. If it merges two of three equal symbols,
//   the pair itself is subtracted twice. Such words get an explicit count of each pair ("irregular").
// - Rare pairs are moved from the recent counts to the full counts, and the most frequent pair is first sought among
//   the recent ones. If a pair that was moved is counted again, its full count is replaced instead of increased.
// - White space inside a word looks like the end of a symbol (merge_in_spaced_word()).
class SubwordMergeLearner final : public MergeLearner {
 public:
  explicit SubwordMergeLearner(const CountedWords& words);
  std::string run(uint64_t merges, uint64_t min_frequency, const OnMerge& on_merge);

 private:
  using Symbols = std::vector<int32_t>;

  void restore_all(uint64_t step);
  void prune();
  void merge_in_word(uint32_t word, uint32_t pair, int32_t merged) override;
  bool replace(uint32_t word, uint32_t pair, int32_t merged);
  bool becomes_irregular(uint32_t pair, int32_t merged) const;
  void make_irregular(uint32_t word, const Symbols& symbols);
  void subtract_old(uint32_t word, uint32_t pair);
  void add_new(uint32_t word, int32_t merged);
  void count(uint32_t word, int32_t left, int32_t right, int sign);

  std::vector<bool> has_space_;
  std::unordered_map<uint32_t, std::unordered_map<uint32_t, int64_t>>
      irregular_;                 // count of each pair in an irregular word, by word
  std::vector<uint32_t> recent_;  // pairs with a recent count
  Symbols old_, new_;             // a word before and after the current merge
  double threshold_ = 0;          // recent counts below it are moved to the full counts
};

SubwordMergeLearner::SubwordMergeLearner(const CountedWords& words)
    : MergeLearner(Tie::greatest_symbols, Repeats::counted_anew) {
  Symbols symbols;
  for (const auto& [text, count] : words) {
    const auto characters = split_characters(text);
    symbols.clear();
    for (size_t i = 0; i < characters.size(); ++i)
      symbols.push_back(id_of(std::string(characters[i]) + (i + 1 == characters.size() ? "</w>" : "")));
    add_word(symbols, count);
    has_space_.push_back(contains_space(text));
    if (has_space_.back()) make_irregular(uint32_t(has_space_.size() - 1), symbols);
  }
  int64_t most = 0;
  for (uint32_t pair = 0; pair < pairs_.size(); ++pair) {
    pairs_[pair].full = pairs_[pair].count;
    most = std::max(most, pairs_[pair].count);
    recent_.push_back(pair);
  }
  queue_all_pairs();
  threshold_ = double(most) / 10;
}

// Moves the recent counts below the threshold to the full counts.
void SubwordMergeLearner::prune() {
  std::erase_if(recent_, [&](uint32_t index) {
    SymbolPair& pair = pairs_[index];
    if (double(pair.count) >= threshold_) return false;
    pair.full = pair.count < 0 ? pair.full + pair.count : pair.count;
    pair.count = 0;
    pair.is_dormant = true;
    return true;
  });
}

// Makes all full counts recent again, and selects a threshold for the merges to come.
void SubwordMergeLearner::restore_all(uint64_t step) {
  prune();
  recent_.clear();
  int64_t most = 0;
  for (uint32_t index = 0; index < pairs_.size(); ++index) {
    pairs_[index].count = pairs_[index].full;
    pairs_[index].is_dormant = false;
    recent_.push_back(index);
    most = std::max(most, pairs_[index].count);
  }
  threshold_ = double(most) * double(step) / (double(step) + 10000.0);
  prune();
  clear_queue();
  for (const uint32_t pair : recent_) queue_pair(pair);
}

std::string SubwordMergeLearner::run(uint64_t merges, uint64_t min_frequency, const OnMerge& on_merge) {
  std::string codes = "#version: 0.2\n";
  for (uint64_t step = 0; step < merges; ++step) {
    const Candidate* best = most_frequent();
    if (best == nullptr || (step > 0 && double(best->count) < threshold_)) {
      restore_all(step);
      best = most_frequent();
    }
    if (best == nullptr || best->count < int64_t(min_frequency)) break;
    const std::string left = symbols_[size_t(pair_of(*best).left)], right = symbols_[size_t(pair_of(*best).right)];
    codes += left + " " + right + "\n";
    merge(id_of(left + right));
    if (step % 100 == 0) prune();
    if (on_merge) on_merge(step + 1, merges);
  }
  return codes;
}

void SubwordMergeLearner::merge_in_word(uint32_t word, uint32_t pair, int32_t merged) {
  auto irregular = irregular_.find(word);
  if (irregular != irregular_.end()) {
    const auto place = irregular->second.find(pair);
    const int64_t count = place == irregular->second.end() ? 0 : place->second;
    if (place != irregular->second.end()) irregular->second.erase(place);
    if (count < 1) return;
  }
  if (!replace(word, pair, merged) && irregular == irregular_.end()) return;
  if (irregular == irregular_.end() && becomes_irregular(pair, merged)) {
    make_irregular(word, old_);
    irregular_[word].erase(pair);
  }
  subtract_old(word, pair);
  add_new(word, merged);
}

// Sets old_ and new_, and the symbols of the word. Returns whether it contained the pair.
bool SubwordMergeLearner::replace(uint32_t word, uint32_t pair, int32_t merged) {
  const auto begin = text_.begin() + std::ptrdiff_t(begin_[word]);
  old_.assign(begin, begin + length_[word]);
  new_.clear();
  if (has_space_[word]) {
    std::vector<std::string> symbols;
    for (const int32_t symbol : old_) symbols.push_back(symbols_[size_t(symbol)]);
    for (const std::string& symbol :
         merge_in_spaced_word(symbols, symbols_[size_t(pairs_[pair].left)], symbols_[size_t(pairs_[pair].right)])) {
      new_.push_back(id_of(symbol));
    }
  } else {
    for (size_t i = 0; i < old_.size(); ++i) {
      const bool joins = i + 1 < old_.size() && old_[i] == pairs_[pair].left && old_[i + 1] == pairs_[pair].right;
      new_.push_back(joins ? merged : old_[i]);
      i += joins;
    }
  }
  std::copy(new_.begin(), new_.end(), begin);
  length_[word] = uint32_t(new_.size());
  return new_.size() < old_.size();
}

bool SubwordMergeLearner::becomes_irregular(uint32_t pair, int32_t merged) const {
  if (std::find(old_.begin(), old_.end(), merged) != old_.end()) return true;
  if (pairs_[pair].left != pairs_[pair].right) return false;
  return std::search_n(old_.begin(), old_.end(), 3, pairs_[pair].left) != old_.end();
}

void SubwordMergeLearner::make_irregular(uint32_t word, const Symbols& symbols) {
  auto& counts = irregular_[word];
  for (size_t i = 1; i < symbols.size(); ++i) ++counts[pairs_.index_of(symbols[i - 1], symbols[i])];
}

// Subtracts the neighbors of the pair's occurrences in old_. In A B A B, only the second occurrence subtracts B A.
void SubwordMergeLearner::subtract_old(uint32_t word, uint32_t pair) {
  const int32_t left = pairs_[pair].left, right = pairs_[pair].right;
  const auto is_pair_at = [&](size_t i) { return i + 1 < old_.size() && old_[i] == left && old_[i + 1] == right; };
  for (size_t i = 0; i + 1 < old_.size();) {
    if (!is_pair_at(i)) {
      ++i;
      continue;
    }
    if (i > 0) count(word, old_[i - 1], left, -1);
    if (i + 2 < old_.size() && !is_pair_at(i + 2)) count(word, right, old_[i + 2], -1);
    i += 2;
  }
}

// Adds the neighbors of the merged symbol in new_. In AB AB, only the second occurrence adds AB AB.
void SubwordMergeLearner::add_new(uint32_t word, int32_t merged) {
  for (size_t i = 0; i < new_.size(); ++i) {
    if (new_[i] != merged) continue;
    if (i > 0) count(word, new_[i - 1], merged, 1);
    if (i + 1 < new_.size() && new_[i + 1] != merged) count(word, merged, new_[i + 1], 1);
  }
}

void SubwordMergeLearner::count(uint32_t word, int32_t left, int32_t right, int sign) {
  const uint32_t known = pairs_.size(), index = change(word, left, right, sign);
  if (index == known || pairs_[index].is_dormant) {
    pairs_[index].is_dormant = false;
    recent_.push_back(index);
  }
  if (const auto counts = irregular_.find(word); counts != irregular_.end()) counts->second[index] += sign;
}

}  // namespace

std::string learn_merges(const CountedWords& words, uint64_t merges, uint64_t min_frequency, const OnMerge& on_merge) {
  std::string codes = SubwordMergeLearner(words).run(merges, min_frequency, on_merge);
  require(codes.find('\n') + 1 < codes.size(), "[subword-nmt] no pair of characters occurs ", min_frequency,
          " times: nothing to merge");
  return codes;
}

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
