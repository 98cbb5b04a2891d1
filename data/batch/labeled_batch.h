// Encodes labeled rows and packs them into batches without padding for sequence classifiers. A row is [CLS] a [SEP] for
// one text and [CLS] a [SEP] b [SEP] for two, as in BERT (Devlin et al., 2019).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "gyre/core/segments.h"
#include "gyre/data/text/labeled_text.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

struct LabeledBatch {
  std::vector<int32_t> ids;          // ids of all rows, concatenated
  std::vector<int32_t> token_types;  // type of each id: 0 up to and including the first [SEP], 1 after it
  Segments rows;                     // range of each row in ids
  std::vector<int32_t> labels;       // class of each row, -1 if unknown; empty for regression
  std::vector<float> scores;         // regression label of each row; empty for classification
};

// Returns how many ids of each text to keep if both texts together may have `room` ids. First truncates the longer text
// at its end. If that is not enough, cuts both to half the room; an odd id goes to the longer text, or to the second of
// two texts of equal length. This matches "longest_first" of Hugging Face's tokenizers (its older Python code and BERT
// give the odd id to the first text).
std::pair<size_t, size_t> truncate_longest_first(size_t first, size_t second, size_t room);

// All rows of a file as ids, encoded once. Every epoch makes its batches from them.
class LabeledIds {
 public:
  // [CLS] and [SEP] are the vocabulary's bos and eos; throws an Error if these are the same id. Truncates rows to
  // `max_length` ids, including the special ones; throws a UsageError if that leaves no room for another id.
  LabeledIds(const LabeledText& text, const Vocabulary& vocabulary, int max_length);
  // Two rows for each triplet: row 2i is the pair of A and the nearer candidate, with label 1, and row 2i + 1 is the
  // pair of A and the farther one, with label 0.
  LabeledIds(const TripletText& text, const Vocabulary& vocabulary, int max_length);
  // Rows without labels, for prediction: is_regression() is false, whatever the model. The second texts are read only
  // if `is_pair`.
  LabeledIds(std::span<const LabeledRow> rows, bool is_pair, const Vocabulary& vocabulary, int max_length);

  size_t size() const { return labels_.size(); }
  int length(size_t row) const { return int(offsets_[row + 1] - offsets_[row]); }  // ids, including special ones
  std::span<const int32_t> labels() const { return labels_; }                      // class of each row, -1 if unknown
  std::span<const float> scores() const { return scores_; }                        // regression label of each row
  bool is_regression() const { return is_regression_; }
  uint64_t checksum() const;                         // checksum of ids and labels
  uint64_t truncated() const { return truncated_; }  // number of truncated rows
  // `swaps`, if given, decides for each row whether its two texts trade places.
  LabeledBatch batch(std::span<const uint32_t> rows, const std::function<bool(uint32_t row)>& swaps = {}) const;

 private:
  // Returns the number of ids for the texts of a row.
  size_t room_of(const Vocabulary& vocabulary, int max_length) const;
  void add(const LabeledRow& row, const Vocabulary& vocabulary, size_t room);

  bool is_pair_, is_regression_;
  std::vector<int32_t> ids_;        // ids of all rows
  std::vector<uint64_t> offsets_;   // first id of each row in ids_, and the end
  std::vector<int32_t> first_ids_;  // number of ids of type 0 in each row
  std::vector<int32_t> labels_;
  std::vector<float> scores_;
  uint64_t truncated_ = 0;
};

}  // namespace gyre
