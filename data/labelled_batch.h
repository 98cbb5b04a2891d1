// Labelled rows as ids, and packed batches of them as a sequence classifier takes them: no padding. A row is
// [CLS] a [SEP] for one text and [CLS] a [SEP] b [SEP] for two, as BERT (Devlin et al., 2019) has it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/segments.h"
#include "data/labelled_text.h"
#include "data/vocabulary.h"

namespace gyre {

struct LabelledBatch {
  std::vector<int32_t> ids;          // rows one after another
  std::vector<int32_t> token_types;  // of each id: 0 up to the first [SEP] and with it, 1 after it
  Segments rows;                     // where each row lies
  std::vector<int32_t> labels;       // the class of each row, -1 where unknown; empty for regression
  std::vector<float> scores;         // regression's label of each row; empty for classes
};

// How many ids of two texts stay when both together may have `room`. The longer loses its end first; when that is not
// enough, both are cut to half the room, and the odd id goes to the longer text, or to the second of equals. This is
// "longest_first" of Hugging Face's tokenizers (its older Python code, like BERT's own, gives the odd id to the first).
std::pair<size_t, size_t> truncate_longest_first(size_t first, size_t second, size_t room);

// All rows of a file as ids, made once and batched every epoch anew.
class LabelledIds {
 public:
  // [CLS] and [SEP] are the vocabulary's bos and eos; an Error where these are one. Rows are cut to `max_length` ids,
  // special ones counted; less than one id beside those is a UsageError.
  LabelledIds(const LabelledText& text, const Vocabulary& vocabulary, int max_length);

  size_t size() const { return labels_.size(); }
  int length(size_t row) const { return int(offsets_[row + 1] - offsets_[row]); }  // ids, with special ones
  std::span<const int32_t> labels() const { return labels_; }  // the class of each row, -1 where unknown
  std::span<const float> scores() const { return scores_; }    // regression's label of each row
  bool is_regression() const { return is_regression_; }
  uint64_t checksum() const;                         // of ids and labels
  uint64_t truncated() const { return truncated_; }  // rows that lost ids
  LabelledBatch batch(std::span<const uint32_t> rows) const;

 private:
  void add(const LabelledRow& row, const Vocabulary& vocabulary, size_t max_length);

  bool is_pair_, is_regression_;
  std::vector<int32_t> ids_;        // of all rows
  std::vector<uint64_t> offsets_;   // of each row in ids_, and the end
  std::vector<int32_t> first_ids_;  // of each row: how many are of type 0
  std::vector<int32_t> labels_;
  std::vector<float> scores_;
  uint64_t truncated_ = 0;
};

}  // namespace gyre
