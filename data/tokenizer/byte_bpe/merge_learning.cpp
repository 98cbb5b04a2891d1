#include "gyre/data/tokenizer/byte_bpe/merge_learning.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "gyre/data/tokenizer/hugging_face/byte_notation.h"

namespace gyre {

namespace {

// Two merges can give the same piece (a bc, ab c). The second one then adds occurrences to pairs that are in the queue
// already, so a pair can have several entries there, each with its own words, and become several merges. Hugging Face
// does the same.
class ByteMergeLearner {
 public:
  ByteMergeLearner(const CountedWords& words, std::vector<std::string>& pieces) : pieces_(pieces) {
    for (size_t id = 0; id < pieces.size(); ++id) ids_.emplace(pieces[id], int32_t(id));
    for (const auto& [word, count] : words) add_word(word, count);
    queue_new_pairs();
  }

  std::vector<ByteBpeMerge> run(size_t size, uint64_t min_frequency, const OnMerge& on_merge) {
    std::vector<ByteBpeMerge> merges;
    const size_t most = size - std::min(size, pieces_.size());
    while (pieces_.size() < size && !queue_.empty()) {
      Candidate best = queue_.top();
      queue_.pop();
      const int64_t now = counts_[best.pair];
      if (now != best.count) {
        best.count = now;
        queue_.push(std::move(best));
        continue;
      }
      if (now < int64_t(std::max<uint64_t>(min_frequency, 1))) break;
      const auto left = int32_t(best.pair >> 32), right = int32_t(uint32_t(best.pair));
      const int32_t merged = id_of(pieces_[size_t(left)] + pieces_[size_t(right)]);
      merges.push_back({left, right, merged});
      for (const uint32_t word : best.words) merge_in_word(words_[word], word, merges.back());
      queue_new_pairs();
      if (on_merge) on_merge(merges.size(), most);
    }
    return merges;
  }

 private:
  using Pair = uint64_t;  // the ids of both pieces; compares like them
  struct Word {
    std::vector<int32_t> ids;
    int64_t count;
  };
  struct Candidate {
    int64_t count;
    Pair pair;
    std::vector<uint32_t> words;  // that contain the pair, or contained it
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  static Pair pair_of(int32_t left, int32_t right) { return Pair(uint32_t(left)) << 32 | uint32_t(right); }

  int32_t id_of(std::string piece) {
    const auto [place, is_new] = ids_.try_emplace(piece, int32_t(pieces_.size()));
    if (is_new) pieces_.push_back(std::move(piece));
    return place->second;
  }

  void add_word(std::string_view bytes, uint64_t count) {
    const auto index = uint32_t(words_.size());
    Word& word = words_.emplace_back(Word{{}, int64_t(count)});
    for (const char byte : bytes) word.ids.push_back(ids_.at(byte_characters()[uint8_t(byte)]));
    for (size_t i = 1; i < word.ids.size(); ++i) add(word.ids[i - 1], word.ids[i], word.count, index);
  }

  void add(int32_t left, int32_t right, int64_t count, uint32_t word) {
    const Pair pair = pair_of(left, right);
    counts_[pair] += count;
    auto& words = new_words_[pair];
    if (words.empty() || words.back() != word) words.push_back(word);
  }

  // The pairs around a merged one give way to pairs with the new piece. The count of the merged pair stays.
  void merge_in_word(Word& word, uint32_t index, const ByteBpeMerge& merge) {
    auto& ids = word.ids;
    size_t kept = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] != merge.left || i + 1 == ids.size() || ids[i + 1] != merge.right) {
        ids[kept++] = ids[i];
        continue;
      }
      if (kept > 0) {
        counts_[pair_of(ids[kept - 1], merge.left)] -= word.count;
        add(ids[kept - 1], merge.merged, word.count, index);
      }
      if (i + 2 < ids.size()) {
        counts_[pair_of(merge.right, ids[i + 2])] -= word.count;
        add(merge.merged, ids[i + 2], word.count, index);
      }
      ids[kept++] = merge.merged;
      ++i;
    }
    ids.resize(kept);
  }

  void queue_new_pairs() {
    for (auto& [pair, words] : new_words_)
      if (const int64_t count = counts_[pair]; count > 0) queue_.push({count, pair, std::move(words)});
    new_words_.clear();
  }

  std::vector<std::string>& pieces_;
  std::unordered_map<std::string, int32_t> ids_;
  std::vector<Word> words_;
  std::unordered_map<Pair, int64_t> counts_;
  std::unordered_map<Pair, std::vector<uint32_t>> new_words_;  // of the pairs that the last merge has made
  std::priority_queue<Candidate> queue_;
};

}  // namespace

std::vector<ByteBpeMerge> learn_byte_merges(const CountedWords& words, size_t size, uint64_t min_frequency,
                                            std::vector<std::string>& pieces, const OnMerge& on_merge) {
  return ByteMergeLearner(words, pieces).run(size, min_frequency, on_merge);
}

}  // namespace gyre
