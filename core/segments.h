// Packed batches without padding: sequences of varying length, one after another along the rows of a tensor. Segments
// holds their offsets (cu_seqlens in other libraries). Immutable and cheap to copy.
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

  int count() const { return int(data_->offsets.size()) - 1; }
  int begin(int i) const { return data_->offsets[size_t(i)]; }
  int end(int i) const { return data_->offsets[size_t(i) + 1]; }
  int length(int i) const { return end(i) - begin(i); }
  int tokens() const { return data_->offsets.back(); }  // total number of rows
  int longest() const { return data_->longest; }
  // All count() + 1 offsets. The pointer shares ownership of them.
  std::shared_ptr<const std::vector<int32_t>> offsets() const { return {data_, &data_->offsets}; }

 private:
  struct Data {
    std::vector<int32_t> offsets;
    int longest = 0;
  };

  std::shared_ptr<const Data> data_;
};

}  // namespace gyre
