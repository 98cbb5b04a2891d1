#include "gyre/data/batch/labeled_batch.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/random.h"

namespace gyre {

std::pair<size_t, size_t> truncate_longest_first(size_t first, size_t second, size_t room) {
  if (first + second <= room) return {first, second};
  const size_t half = room / 2, rest = room - half;
  if (first > second) return second <= half ? std::pair{room - second, second} : std::pair{rest, half};
  return first <= half ? std::pair{first, room - first} : std::pair{half, rest};
}

LabeledIds::LabeledIds(const LabeledText& text, const Vocabulary& vocabulary, int max_length)
    : LabeledIds(text.rows(), text.format().second_text.has_value(), vocabulary, max_length) {
  is_regression_ = text.format().is_regression();
}

LabeledIds::LabeledIds(const TripletText& text, const Vocabulary& vocabulary, int max_length)
    : is_pair_(true), is_regression_(false), offsets_{0} {
  const size_t room = room_of(vocabulary, max_length);
  for (const Triplet& triplet : text.triplets()) {
    add({triplet.line, {triplet.a, triplet.nearer()}, 1}, vocabulary, room);
    add({triplet.line, {triplet.a, triplet.farther()}, 0}, vocabulary, room);
  }
}

LabeledIds::LabeledIds(std::span<const LabeledRow> rows, bool is_pair, const Vocabulary& vocabulary, int max_length)
    : is_pair_(is_pair), is_regression_(false), offsets_{0} {
  const size_t room = room_of(vocabulary, max_length);
  for (const LabeledRow& row : rows) add(row, vocabulary, room);
}

size_t LabeledIds::room_of(const Vocabulary& vocabulary, int max_length) const {
  const int special = is_pair_ ? 3 : 2;
  if (max_length <= special) {
    throw UsageError("[data] expected room for more than the ", special, " special ids of a row, got a length of ",
                     max_length);
  }
  require(vocabulary.bos() != vocabulary.eos(),
          "[data] expected a vocabulary with [CLS] or <s> in addition to [SEP] or ", "</s>, got one of kind ",
          vocabulary.kind(), " without it");
  return size_t(max_length - special);
}

void LabeledIds::add(const LabeledRow& row, const Vocabulary& vocabulary, size_t room) {
  const std::vector<int32_t> first = vocabulary.encode(row.text[0]);
  const std::vector<int32_t> second = is_pair_ ? vocabulary.encode(row.text[1]) : std::vector<int32_t>();
  const auto [of_first, of_second] = truncate_longest_first(first.size(), second.size(), room);
  truncated_ += of_first + of_second < first.size() + second.size();
  const auto append = [&](const std::vector<int32_t>& ids, size_t count) {
    ids_.insert(ids_.end(), ids.begin(), ids.begin() + ptrdiff_t(count));
    ids_.push_back(vocabulary.eos());
  };
  ids_.push_back(vocabulary.bos());
  append(first, of_first);
  first_ids_.push_back(int32_t(of_first) + 2);
  if (is_pair_) append(second, of_second);
  offsets_.push_back(ids_.size());
  labels_.push_back(row.label);
  scores_.push_back(float(row.score));
}

uint64_t LabeledIds::checksum() const {
  uint64_t sum = 0;
  const auto include = [&sum](const auto& values) {
    sum = mix(sum, hash_name({reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]}));
  };
  include(ids_);
  include(offsets_);
  include(labels_);
  include(scores_);
  return sum;
}

LabeledBatch LabeledIds::batch(std::span<const uint32_t> rows, const std::function<bool(uint32_t row)>& swaps) const {
  LabeledBatch batch;
  std::vector<int32_t> lengths;
  for (const uint32_t row : rows) {
    require(row < size(), "[data] expected a row in [0, ", size(), "), got ", row);
    const auto begin = ids_.begin() + ptrdiff_t(offsets_[row]), end = ids_.begin() + ptrdiff_t(offsets_[row + 1]);
    const auto second = begin + first_ids_[row];
    const bool swapped = swaps && swaps(row);
    batch.ids.insert(batch.ids.end(), begin, end);
    if (swapped) std::rotate(batch.ids.end() - (end - begin) + 1, batch.ids.end() - (end - second), batch.ids.end());
    lengths.push_back(length(row));
    batch.token_types.insert(batch.token_types.end(), size_t(swapped ? end - second + 1 : second - begin), 0);
    batch.token_types.resize(batch.ids.size(), 1);
    if (is_regression_) {
      batch.scores.push_back(scores_[row]);
    } else {
      batch.labels.push_back(labels_[row]);
    }
  }
  batch.rows = Segments::from_lengths(lengths);
  return batch;
}

}  // namespace gyre
