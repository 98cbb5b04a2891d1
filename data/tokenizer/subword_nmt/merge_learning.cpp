#include "gyre/data/tokenizer/subword_nmt/merge_learning.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/subword_nmt/pair_table.h"
#include "gyre/data/tokenizer/subword_nmt/spaced_words.h"

namespace gyre {

namespace {

// Follows learn_bpe.py in every detail that affects the result, including these:
// - The counts of a pair are not always the number of its occurrences. If a merge makes a symbol that its word already
//   contains (a bc, ab c), the neighbors of the old symbol are counted again. If it merges two of three equal symbols,
//   the pair itself is subtracted twice. Such words get an explicit count of each pair ("irregular").
// - Rare pairs are moved from the recent counts to the full counts, and the most frequent pair is first sought among
//   the recent ones. If a pair that was moved is counted again, its full count is replaced instead of increased.
// - White space inside a word looks like the end of a symbol (spaced_words.h).
class MergeLearner {
 public:
  explicit MergeLearner(const CountedWords& words);
  std::string run(uint64_t merges, uint64_t min_frequency, const OnMerge& on_merge);

 private:
  using Symbols = std::vector<int32_t>;
  struct Candidate {
    int64_t count;
    uint32_t pair;
  };

  int32_t intern(const std::string& symbol);
  void add_word(std::string_view word, uint64_t count);
  bool is_less(const Candidate& a, const Candidate& b) const;
  void push(uint32_t pair);
  bool find_most_frequent(uint32_t& pair);
  void restore_all(uint64_t step);
  void prune();
  void merge(uint32_t pair);
  void merge_in_word(uint32_t word, uint32_t pair, int32_t merged);
  bool replace(uint32_t word, uint32_t pair, int32_t merged);
  bool becomes_irregular(uint32_t pair, int32_t merged) const;
  void make_irregular(uint32_t word, const Symbols& symbols);
  void subtract_old(uint32_t word, uint32_t pair);
  void add_new(uint32_t word, int32_t merged);
  void change(uint32_t word, int32_t left, int32_t right, int sign);

  std::vector<std::string> symbols_;
  std::unordered_map<std::string, int32_t> symbol_ids_;
  PairTable pairs_;
  // Word w consists of the symbols text_[begin_[w]] and following, length_[w] of them.
  Symbols text_;
  std::vector<uint64_t> begin_;
  std::vector<uint32_t> length_;
  std::vector<int64_t> count_;
  std::vector<bool> has_space_;
  std::unordered_map<uint32_t, std::unordered_map<uint32_t, int64_t>> irregular_;  // by word: its count of each pair
  std::vector<Candidate> heap_;   // may hold outdated counts, none of them too small
  std::vector<uint32_t> recent_;  // pairs with a recent count
  std::vector<uint32_t> raised_;  // pairs that the current merge has counted
  Symbols old_, new_;             // a word before and after the current merge
  double threshold_ = 0;          // recent counts below it are moved to the full counts
};

MergeLearner::MergeLearner(const CountedWords& words) {
  for (const auto& [word, count] : words) add_word(word, count);
  int64_t most = 0;
  for (uint32_t pair = 0; pair < pairs_.size(); ++pair) {
    pairs_[pair].full = pairs_[pair].recent;
    most = std::max(most, pairs_[pair].recent);
    push(pair);
  }
  threshold_ = double(most) / 10;
}

int32_t MergeLearner::intern(const std::string& symbol) {
  const auto [place, is_new] = symbol_ids_.try_emplace(symbol, int32_t(symbols_.size()));
  if (is_new) symbols_.push_back(symbol);
  return place->second;
}

void MergeLearner::add_word(std::string_view text, uint64_t count) {
  const auto word = uint32_t(begin_.size());
  const auto characters = split_characters(text);
  begin_.push_back(text_.size());
  length_.push_back(uint32_t(characters.size()));
  count_.push_back(int64_t(count));
  has_space_.push_back(contains_space(text));
  for (size_t i = 0; i < characters.size(); ++i) {
    text_.push_back(intern(std::string(characters[i]) + (i + 1 == characters.size() ? "</w>" : "")));
    if (i > 0) change(word, text_.end()[-2], text_.back(), 1);
  }
  raised_.clear();
  if (has_space_.back()) make_irregular(word, {text_.end() - std::ptrdiff_t(characters.size()), text_.end()});
}

bool MergeLearner::is_less(const Candidate& a, const Candidate& b) const {
  if (a.count != b.count) return a.count < b.count;
  const SymbolPair &p = pairs_[a.pair], &q = pairs_[b.pair];
  const int order = symbols_[size_t(p.left)].compare(symbols_[size_t(q.left)]);
  return order != 0 ? order < 0 : symbols_[size_t(p.right)] < symbols_[size_t(q.right)];
}

void MergeLearner::push(uint32_t pair) {
  heap_.push_back({pairs_[pair].recent, pair});
  std::push_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return is_less(a, b); });
}

// Finds the pair with the highest recent count; returns false if there is none.
bool MergeLearner::find_most_frequent(uint32_t& pair) {
  while (!heap_.empty()) {
    const Candidate best = heap_.front();
    pair = best.pair;
    if (pairs_[pair].is_recent && pairs_[pair].recent == best.count) return true;
    std::pop_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return is_less(a, b); });
    heap_.pop_back();
    if (pairs_[pair].is_recent) push(pair);
  }
  return false;
}

// Moves the recent counts below the threshold to the full counts.
void MergeLearner::prune() {
  std::erase_if(recent_, [&](uint32_t index) {
    SymbolPair& pair = pairs_[index];
    if (double(pair.recent) >= threshold_) return false;
    pair.full = pair.recent < 0 ? pair.full + pair.recent : pair.recent;
    pair.recent = 0;
    pair.is_recent = false;
    return true;
  });
}

// Makes all full counts recent again, and selects a threshold for the merges to come.
void MergeLearner::restore_all(uint64_t step) {
  prune();
  recent_.clear();
  int64_t most = 0;
  for (uint32_t index = 0; index < pairs_.size(); ++index) {
    pairs_[index].recent = pairs_[index].full;
    pairs_[index].is_recent = true;
    recent_.push_back(index);
    most = std::max(most, pairs_[index].recent);
  }
  threshold_ = double(most) * double(step) / (double(step) + 10000.0);
  prune();
  heap_.clear();
  for (const uint32_t pair : recent_) heap_.push_back({pairs_[pair].recent, pair});
  std::make_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return is_less(a, b); });
}

std::string MergeLearner::run(uint64_t merges, uint64_t min_frequency, const OnMerge& on_merge) {
  std::string codes = "#version: 0.2\n";
  for (uint64_t step = 0; step < merges; ++step) {
    uint32_t best = 0;
    bool found = find_most_frequent(best);
    if (!found || (step > 0 && double(pairs_[best].recent) < threshold_)) {
      restore_all(step);
      found = find_most_frequent(best);
    }
    if (!found || pairs_[best].recent < int64_t(min_frequency)) break;
    codes += symbols_[size_t(pairs_[best].left)] + " " + symbols_[size_t(pairs_[best].right)] + "\n";
    merge(best);
    if (step % 100 == 0) prune();
    if (on_merge) on_merge(step + 1, merges);
  }
  return codes;
}

void MergeLearner::merge(uint32_t pair) {
  const int32_t merged = intern(symbols_[size_t(pairs_[pair].left)] + symbols_[size_t(pairs_[pair].right)]);
  const std::vector<uint32_t> words = std::move(pairs_[pair].words);
  pairs_[pair].words = {};
  raised_.clear();
  for (const uint32_t word : words) merge_in_word(word, pair, merged);
  pairs_[pair].recent = 0;
  std::sort(raised_.begin(), raised_.end());
  raised_.erase(std::unique(raised_.begin(), raised_.end()), raised_.end());
  for (const uint32_t raised : raised_) push(raised);
}

void MergeLearner::merge_in_word(uint32_t word, uint32_t pair, int32_t merged) {
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
bool MergeLearner::replace(uint32_t word, uint32_t pair, int32_t merged) {
  const auto begin = text_.begin() + std::ptrdiff_t(begin_[word]);
  old_.assign(begin, begin + length_[word]);
  new_.clear();
  if (has_space_[word]) {
    std::vector<std::string> symbols;
    for (const int32_t symbol : old_) symbols.push_back(symbols_[size_t(symbol)]);
    for (const std::string& symbol :
         merge_in_spaced_word(symbols, symbols_[size_t(pairs_[pair].left)], symbols_[size_t(pairs_[pair].right)])) {
      new_.push_back(intern(symbol));
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

bool MergeLearner::becomes_irregular(uint32_t pair, int32_t merged) const {
  if (std::find(old_.begin(), old_.end(), merged) != old_.end()) return true;
  if (pairs_[pair].left != pairs_[pair].right) return false;
  return std::search_n(old_.begin(), old_.end(), 3, pairs_[pair].left) != old_.end();
}

void MergeLearner::make_irregular(uint32_t word, const Symbols& symbols) {
  auto& counts = irregular_[word];
  for (size_t i = 1; i < symbols.size(); ++i) ++counts[pairs_.index_of(symbols[i - 1], symbols[i])];
}

// Subtracts the neighbors of the pair's occurrences in old_. In A B A B, only the second occurrence subtracts B A.
void MergeLearner::subtract_old(uint32_t word, uint32_t pair) {
  const int32_t left = pairs_[pair].left, right = pairs_[pair].right;
  const auto is_pair_at = [&](size_t i) { return i + 1 < old_.size() && old_[i] == left && old_[i + 1] == right; };
  for (size_t i = 0; i + 1 < old_.size();) {
    if (!is_pair_at(i)) {
      ++i;
      continue;
    }
    if (i > 0) change(word, old_[i - 1], left, -1);
    if (i + 2 < old_.size() && !is_pair_at(i + 2)) change(word, right, old_[i + 2], -1);
    i += 2;
  }
}

// Adds the neighbors of the merged symbol in new_. In AB AB, only the second occurrence adds AB AB.
void MergeLearner::add_new(uint32_t word, int32_t merged) {
  for (size_t i = 0; i < new_.size(); ++i) {
    if (new_[i] != merged) continue;
    if (i > 0) change(word, new_[i - 1], merged, 1);
    if (i + 1 < new_.size() && new_[i + 1] != merged) change(word, merged, new_[i + 1], 1);
  }
}

// Counts a pair in a word once more or once less.
void MergeLearner::change(uint32_t word, int32_t left, int32_t right, int sign) {
  const uint32_t index = pairs_.index_of(left, right);
  SymbolPair& pair = pairs_[index];
  if (!pair.is_recent) {
    pair.is_recent = true;
    recent_.push_back(index);
  }
  pair.recent += sign * count_[word];
  if (const auto counts = irregular_.find(word); counts != irregular_.end()) counts->second[index] += sign;
  if (sign < 0) return;
  raised_.push_back(index);
  if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
}

}  // namespace

std::string learn_merges(const CountedWords& words, uint64_t merges, uint64_t min_frequency, const OnMerge& on_merge) {
  std::string codes = MergeLearner(words).run(merges, min_frequency, on_merge);
  require(codes.find('\n') + 1 < codes.size(), "[subword-nmt] no pair of characters occurs ", min_frequency,
          " times: nothing to merge");
  return codes;
}

}  // namespace gyre
