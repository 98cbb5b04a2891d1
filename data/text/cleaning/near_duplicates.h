// Finds texts that resemble an earlier one: MinHash signatures (Broder 1997) in locality-sensitive hash tables.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gyre {

struct NearDuplicateOptions {
  // Texts with at least this estimate of the Jaccard similarity of their sets of shingles are near-duplicates; 0: none.
  double similarity = 0;
  int shingle_words = 5;
  int hashes = 128;

  void validate() const;  // throws UsageError
};

// The memory is about 2 bytes per hash and 12 bytes per band for each text that is added: 510 bytes by default.
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
  std::vector<uint32_t> before_;              // for a text and a band, the text before with the same band, plus 1
};

}  // namespace gyre
