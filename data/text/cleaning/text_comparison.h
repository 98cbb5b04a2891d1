// Compares texts: words and lines folded for comparison, hashes, runs of words, and near duplicates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gyre {

// The words of a text in the form in which documents are compared. Returns a hash of each word of a UTF-8 text. A word
// is a run of letters, digits and their marks; case, punctuation and white space do not matter, as in the search for
// contaminated examples of GPT-3 (Brown et al. 2020, appendix C). Each character of a script that writes no spaces
// (Chinese, Japanese, Thai; line breaking classes ID, CJ and SA of Unicode) is a word of its own.
std::vector<uint64_t> compared_words(std::string_view text);

// 128-bit hashes of texts, and a compact table of them that finds repeated texts.
struct TextHash {
  uint64_t high = 0, low = 0;
  bool operator==(const TextHash&) const = default;
};

// Not cryptographic: texts made on purpose can collide. Of n distinct texts, two collide with a probability of about
// n^2 / 2^129, that is 3e-26 for 4.5 million.
TextHash hash_text(std::string_view text, TextHash seed = {});

// The key of a pair of texts, from the hash of each.
inline TextHash pair_key(const TextHash& first, const TextHash& second) {
  return hash_text({reinterpret_cast<const char*>(&second), sizeof second}, first);
}

// Maps hashes to numbers above 0, in 24 bytes per slot and 32 to 64 bytes per hash.
class TextHashTable {
 public:
  TextHashTable();
  // Returns the number of the hash; adds it with `number` and returns 0 if it is new.
  uint64_t find_or_add(const TextHash& hash, uint64_t number);
  uint64_t find(const TextHash& hash) const;  // 0 if there is none
  uint64_t size() const { return size_; }

 private:
  struct Slot {
    TextHash hash;
    uint64_t number = 0;  // 0: free
  };
  size_t slot_of(const TextHash& hash) const;  // slot of the hash, or the free one where it belongs
  void grow();

  std::vector<Slot> slots_;  // a power of two of them
  uint64_t size_ = 0;
};

// Finds texts that share a run of words with the texts of held-out sets: the contamination of a training corpus. The
// n-grams of words (compared_words()) of held-out texts. A text of fewer than n words, but of at least kFewest, is
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

// Options of NearDuplicates.
struct NearDuplicateOptions {
  // Texts with at least this estimate of the Jaccard similarity of their sets of shingles are near-duplicates; 0: none.
  double similarity = 0;
  int shingle_words = 5;
  int hashes = 128;

  void validate() const;  // throws UsageError
};

// Finds texts that resemble an earlier one: MinHash signatures (Broder 1997) in locality-sensitive hash tables. The
// memory is about 2 bytes per hash and 12 bytes per band for each text that is added: 510 bytes by default.
class NearDuplicates {
 public:
  explicit NearDuplicates(const NearDuplicateOptions& options);

  // The low 16 bits of the smallest value of each hash function over the shingles of a text (compared_words()): the
  // share of equal entries of two signatures estimates their similarity, with a standard error of 0.035 at 0.8 and 128
  // hashes. A text shorter than a shingle is one shingle; a text without words has no signature. Thread-safe.
  using Signature = std::vector<uint16_t>;
  Signature signature(std::span<const uint64_t> words) const;

  struct Match {
    uint64_t number = 0;
    double similarity = 0;
  };
  // Returns the first of the added texts that the text resembles, or adds the text with its number. Texts are compared
  // if all entries of a band of their signatures are equal.
  std::optional<Match> find_or_add(const Signature& signature, uint64_t number);

  // The length of a band: the longest with which at least 99 % of the pairs that have just the similarity are compared.
  int band_rows() const { return int(rows_); }

 private:
  std::span<const uint16_t> band(std::span<const uint16_t> signature, size_t band) const {
    return signature.subspan(band * rows_, rows_);
  }
  std::span<const uint16_t> stored(size_t text) const {
    return {signatures_.data() + text * seeds_.size(), seeds_.size()};
  }
  size_t slot_of(size_t table, std::span<const uint16_t> rows) const;
  void grow();

  NearDuplicateOptions options_;
  std::vector<uint32_t> seeds_;  // seed of each hash function
  size_t rows_ = 1, bands_ = 1;
  std::vector<uint16_t> signatures_;          // signatures of the added texts
  std::vector<uint64_t> numbers_;             // numbers of the added texts
  std::vector<std::vector<uint32_t>> heads_;  // a table per band: the last text with the same band, plus 1; 0: free
  std::vector<uint32_t> before_;              // the text before with the same band, plus 1, for each text and band
};

}  // namespace gyre
