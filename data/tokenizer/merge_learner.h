// Learns merges of byte-pair encoding (Sennrich et al. 2016) from counted words: the loop that the trainings of
// WordPiece, byte-level BPE and subword-nmt share.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace gyre {

struct SymbolPair {
  int32_t left, right;
  int64_t count = 0;
  int64_t full = 0;               // count before the last words were forgotten; for subword-nmt
  bool is_dormant = false;        // whether it cannot be merged; for subword-nmt
  uint32_t queued = 0;            // the first words, which are in the queue already, if entries have words of their own
  std::vector<uint32_t> words{};  // words that contain or contained the pair
};

// Numbers the pairs in the order in which they are first asked for. Open addressing with linear probing, because there
// are millions of pairs.
class PairTable {
 public:
  PairTable() : slots_(1024, kFree) {}

  uint32_t size() const { return uint32_t(pairs_.size()); }
  SymbolPair& operator[](uint32_t index) { return pairs_[index]; }
  const SymbolPair& operator[](uint32_t index) const { return pairs_[index]; }

  // Adds the pair if it is new.
  uint32_t index_of(int32_t left, int32_t right);

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  size_t slot_of(int32_t left, int32_t right) const;
  void grow();

  std::vector<SymbolPair> pairs_;
  std::vector<uint32_t> slots_;
};

class MergeLearner {
 public:
  enum class Tie : uint8_t { smallest_ids, greatest_symbols };  // the winner of pairs with equal counts
  // A merge can give a symbol that is known already (a bc, ab c), and thereby a pair that was merged before. By
  // default, its count begins at 0 again. Hugging Face's trainers go on with the old count, and every batch of words
  // that gets the pair is an entry of its own in the queue: the pair then becomes several merges.
  enum class Repeats : uint8_t { counted_anew, several_merges };

  MergeLearner(Tie tie, Repeats repeats) : tie_(tie), has_own_words_(repeats == Repeats::several_merges) {}
  virtual ~MergeLearner() = default;

  // The number of a symbol. A new one gets the next number.
  int32_t id_of(std::string symbol);
  std::vector<std::string>& symbols() { return symbols_; }

  // Adds a word, which is distinct from the others, and counts its pairs.
  void add_word(const std::vector<int32_t>& symbols, uint64_t count);
  void queue_all_pairs();  // call it after all add_word()

  struct Candidate {
    int64_t count;
    uint32_t pair, first, end;  // first .. end - 1: the words of this entry, if entries have words of their own
  };
  // The most frequent pair; nullptr if there is none. Valid until the next merge.
  const Candidate* most_frequent();
  const SymbolPair& pair_of(const Candidate& candidate) const { return pairs_[candidate.pair]; }
  // Merges the most frequent pair to this symbol in all words.
  void merge(int32_t merged);

 protected:
  // Counts a pair in a word once more or once less. Returns the pair.
  uint32_t change(uint32_t word, int32_t left, int32_t right, int sign);
  // Replaces the pair in a word, and counts the pairs around the merged symbol instead of those before.
  virtual void merge_in_word(uint32_t word, uint32_t pair, int32_t merged);
  void clear_queue() { queue_.clear(); }
  void queue_pair(uint32_t pair);

  std::vector<std::string> symbols_;
  PairTable pairs_;
  // Word w consists of the symbols text_[begin_[w]] and following, length_[w] of them.
  std::vector<int32_t> text_;
  std::vector<uint64_t> begin_;
  std::vector<uint32_t> length_;
  std::vector<int64_t> count_;

 private:
  bool is_less(const Candidate& a, const Candidate& b) const;
  void push(const Candidate& candidate);
  void pop();

  Tie tie_;
  bool has_own_words_;
  std::unordered_map<std::string, int32_t> ids_;
  std::vector<Candidate> queue_;  // a heap, which may hold outdated counts, none of them too small
  std::vector<uint32_t> raised_;  // pairs that the current merge has counted
};

}  // namespace gyre
