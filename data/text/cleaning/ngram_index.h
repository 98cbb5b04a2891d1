// Finds texts that share a run of words with the texts of held-out sets: the contamination of a training corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gyre/data/text/cleaning/text_hash.h"

namespace gyre {

// The n-grams of words (compared_words()) of held-out texts. A text of fewer than n words, but of at least kFewest, is
// one n-gram; GPT-3 (Brown et al. 2020, appendix C) takes runs of 8 to 13 words. A shorter text is only found as a
// whole text.
class NgramIndex {
 public:
  static constexpr size_t kFewest = 8;

  explicit NgramIndex(size_t n) : n_(n) {}

  // Adds a text, whose number is that of the texts added before it.
  void add(std::span<const uint64_t> words);
  size_t texts() const { return ngrams_of_.size(); }
  // The numbers of the n-grams of a text, in their order.
  const std::vector<uint32_t>& ngrams_of(size_t text) const { return ngrams_of_[text]; }
  size_t ngrams() const { return first_text_.size(); }

  struct Match {
    uint32_t ngram = 0, words = 0;  // number and length
    size_t text = 0;                // the first text with it
  };
  // The n-grams that occur in a text, in its order; only the first one if `is_first` is set. Thread-safe.
  std::vector<Match> find(std::span<const uint64_t> words, bool is_first) const;

 private:
  uint32_t number_of(const TextHash& hash);

  size_t n_;
  TextHashTable table_;                        // hash of an n-gram to its number plus 1
  std::vector<uint32_t> first_text_, length_;  // first text and length of each n-gram
  std::vector<size_t> lengths_;                // lengths that occur, ascending
  std::vector<std::vector<uint32_t>> ngrams_of_;
};

}  // namespace gyre
