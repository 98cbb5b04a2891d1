#include "gyre/data/tokenizer/wordpiece/wordpiece_merges.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"
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

class Merger {
 public:
  Merger(const CountedWords& words, const WordPieceMerges& options) : options_(options) {
    for (const std::string_view special : kBertSpecials) id_of(std::string(special));
    add_characters(words);
    require(pieces_.size() <= size_t(options.size), "[vocabulary] --size: expected at least ", pieces_.size(),
            " pieces, the special ones and the characters, got ", options.size);
    for (const auto& [pair, count] : pair_counts_) queue_.push({count, pair});
  }

  std::vector<std::string> run(const CountedWords& whole, const OnMerge& on_merge) {
    auto word = whole.begin();
    const size_t first = pieces_.size();
    while (pieces_.size() < size_t(options_.size)) {
      const uint64_t count = next_count();
      if (word != whole.end() && word->second >= std::max(count, least_count())) {
        id_of(word++->first);
      } else if (count > 0) {
        const Pair pair = queue_.top().pair;
        queue_.pop();
        merge(pair);
      } else {
        break;
      }
      if (on_merge) on_merge(pieces_.size() - first, size_t(options_.size) - first);
    }
    return std::move(pieces_);
  }

 private:
  using Pair = std::pair<int32_t, int32_t>;
  struct Word {
    std::vector<int32_t> ids;
    uint64_t count;
  };
  struct Candidate {
    uint64_t count;
    Pair pair;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };
  struct PairHash {
    size_t operator()(const Pair& pair) const {
      return std::hash<uint64_t>{}((uint64_t(uint32_t(pair.first)) << 32 | uint32_t(pair.second)) * 0x9E3779B97F4A7C15);
    }
  };

  uint64_t least_count() const { return std::max<uint64_t>(options_.min_frequency, 1); }

  // Brings the most frequent pair to the top of the queue and returns its count, or 0 if no pair is frequent enough.
  uint64_t next_count() {
    while (!queue_.empty()) {
      const auto [count, pair] = queue_.top();
      const uint64_t now = pair_counts_.at(pair);
      if (now == count && now >= least_count()) return now;
      queue_.pop();
      if (now >= least_count()) queue_.push({now, pair});  // the count decreased after the pair was queued
    }
    return 0;
  }

  int32_t id_of(const std::string& piece) {
    const auto [place, is_new] = ids_.try_emplace(piece, int32_t(pieces_.size()));
    if (is_new) pieces_.push_back(piece);
    return place->second;
  }

  void add_characters(const CountedWords& words) {
    const Characters alphabet = alphabet_of(words, options_.limit_alphabet);
    std::vector<std::pair<std::vector<std::string_view>, uint64_t>> usable;
    Characters continuations;
    for (const auto& [word, count] : words) {
      auto characters = split_characters(word);
      if (!std::ranges::all_of(characters, [&](auto character) { return alphabet.contains(character); })) continue;
      for (size_t i = 1; i < characters.size(); ++i) continuations.emplace(characters[i]);
      usable.emplace_back(std::move(characters), count);
    }
    for (const std::string& character : alphabet) id_of(character);
    for (const std::string& character : continuations) id_of("##" + character);
    for (const auto& [characters, count] : usable) add_word(characters, count);
  }

  void add_word(const std::vector<std::string_view>& characters, uint64_t count) {
    Word& word = words_.emplace_back(Word{{}, count});
    for (const std::string_view character : characters) {
      word.ids.push_back(id_of((word.ids.empty() ? "" : "##") + std::string(character)));
    }
    for (size_t i = 1; i < word.ids.size(); ++i) {
      const Pair pair{word.ids[i - 1], word.ids[i]};
      pair_counts_[pair] += count;
      remember(pair, words_.size() - 1);
    }
  }

  void remember(const Pair& pair, size_t word) {
    auto& words = pair_words_[pair];
    if (words.empty() || words.back() != word) words.push_back(word);
  }

  void merge(const Pair& pair) {
    const int32_t merged = id_of(pieces_[size_t(pair.first)] + pieces_[size_t(pair.second)].substr(2));
    std::set<Pair> changed_pairs;
    const auto words = std::move(pair_words_[pair]);
    pair_words_.erase(pair);
    for (const size_t index : words) merge_in_word(index, pair, merged, changed_pairs);
    for (const Pair& other : changed_pairs) queue_.push({pair_counts_.at(other), other});
  }

  // Subtracts the counts of the word's pairs, merges `pair`, and adds the counts of the new pairs.
  void merge_in_word(size_t index, const Pair& pair, int32_t merged, std::set<Pair>& changed_pairs) {
    Word& word = words_[index];
    for (size_t i = 1; i < word.ids.size(); ++i) pair_counts_.at({word.ids[i - 1], word.ids[i]}) -= word.count;
    size_t kept = 0;
    for (size_t i = 0; i < word.ids.size(); ++i) {
      const bool joins = i + 1 < word.ids.size() && Pair{word.ids[i], word.ids[i + 1]} == pair;
      word.ids[kept++] = joins ? merged : word.ids[i];
      i += joins;
    }
    word.ids.resize(kept);
    for (size_t i = 1; i < word.ids.size(); ++i) {
      const Pair other{word.ids[i - 1], word.ids[i]};
      pair_counts_[other] += word.count;
      if (other.first != merged && other.second != merged) continue;
      remember(other, index);
      changed_pairs.insert(other);
    }
  }

  const WordPieceMerges& options_;
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, int32_t> ids_;
  std::vector<Word> words_;
  std::unordered_map<Pair, uint64_t, PairHash> pair_counts_;
  std::unordered_map<Pair, std::vector<size_t>, PairHash> pair_words_;  // words that contain or contained the pair
  std::priority_queue<Candidate> queue_;
};

}  // namespace

std::vector<std::string> wordpiece_pieces(const CountedWords& words, const WordPieceMerges& options,
                                          const CountedWords& whole, const OnMerge& on_merge) {
  require(options.limit_alphabet >= 1, "[vocabulary] --limit-alphabet: expected at least 1 character, got ",
          options.limit_alphabet);
  return Merger(words, options).run(whole, on_merge);
}

}  // namespace gyre
