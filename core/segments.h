// Packed batches without padding: sequences of varying length, one after another along the rows of a tensor. Segments
// holds their offsets (cu_seqlens in other libraries). Immutable and cheap to copy. The rows of attention's keys may
// also have gaps between the sequences, such as the free places of a cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gyre/core/error.h"

namespace gyre {

class Segments {
 public:
  Segments() : Segments(std::vector<int32_t>{0}) {}

  // Segment i consists of rows offsets[i] to offsets[i + 1] - 1. Throws Error unless the offsets start at 0 and do not
  // decrease.
  explicit Segments(std::vector<int32_t> offsets) {
    require(!offsets.empty() && offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end()),
            "[segments] offsets must start at 0 and not decrease");
    auto data = std::make_shared<Data>();
    for (size_t i = 1; i < offsets.size(); ++i) data->longest = std::max(data->longest, offsets[i] - offsets[i - 1]);
    data->offsets = std::move(offsets);
    data_ = std::move(data);
  }

  static Segments from_lengths(const std::vector<int32_t>& lengths) {
    std::vector<int32_t> offsets{0};
    for (int32_t n : lengths) offsets.push_back(offsets.back() + n);
    return Segments(std::move(offsets));
  }

  // Segment i consists of lengths[i] rows from begins[i] on, of a tensor with `rows` rows. Only attention accepts such
  // segments, and only as keys. Throws Error unless each segment ends before the next one begins.
  static Segments with_gaps(std::vector<int32_t> begins, std::vector<int32_t> lengths, int32_t rows) {
    require(begins.size() == lengths.size(), "[segments] expected as many lengths as begins");
    begins.push_back(rows);
    Data data;
    for (size_t i = 0; i < lengths.size(); ++i) {
      require(lengths[i] >= 0 && begins[i] >= 0 && begins[i] + lengths[i] <= begins[i + 1],
              "[segments] each must end before the next one begins");
      data.longest = std::max(data.longest, lengths[i]);
    }
    data.offsets = std::move(begins);
    data.lengths = std::move(lengths);
    Segments segments;
    segments.data_ = std::make_shared<const Data>(std::move(data));
    return segments;
  }

  int count() const { return int(data_->offsets.size()) - 1; }
  int begin(int i) const { return data_->offsets[size_t(i)]; }
  int end(int i) const { return begin(i) + length(i); }
  int length(int i) const {
    const auto& d = *data_;
    return d.lengths.empty() ? d.offsets[size_t(i) + 1] - d.offsets[size_t(i)] : d.lengths[size_t(i)];
  }
  int tokens() const { return data_->offsets.back(); }  // total number of rows, with those of gaps
  int longest() const { return data_->longest; }
  // All count() + 1 offsets; with gaps, they are where the segments begin. The pointer shares ownership of them.
  std::shared_ptr<const std::vector<int32_t>> offsets() const { return {data_, &data_->offsets}; }

 private:
  struct Data {
    std::vector<int32_t> offsets;
    std::vector<int32_t> lengths;  // empty if there are no gaps
    int longest = 0;
  };

  std::shared_ptr<const Data> data_;
};

}  // namespace gyre
