// Packed batches: a flat row of tokens plus the places where each sentence lies in it. There is no padding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/error.h"

namespace gyre {

class Segments {
 public:
  Segments() : Segments(std::vector<int32_t>{0}) {}

  // offsets: count + 1 non-decreasing numbers, the first 0, the last the number of rows. Segments follow one another.
  explicit Segments(std::vector<int32_t> offsets) : Segments(std::move(offsets), {}) {}

  static Segments from_lengths(const std::vector<int32_t>& lengths) {
    std::vector<int32_t> offsets{0};
    for (int32_t n : lengths) offsets.push_back(offsets.back() + n);
    return Segments(std::move(offsets));
  }

  // Segment i has `capacity` rows, of which the first lengths[i] are in use: the key/value caches of decoding.
  static Segments with_capacity(std::vector<int32_t> lengths, int32_t capacity) {
    std::vector<int32_t> offsets(lengths.size() + 1);
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = int32_t(i) * capacity;
    return Segments(std::move(offsets), std::move(lengths));
  }

  int count() const { return int(data_->offsets.size()) - 1; }
  int begin(int i) const { return data_->offsets[size_t(i)]; }
  int length(int i) const { return data_->lengths[size_t(i)]; }
  int end(int i) const { return begin(i) + length(i); }
  int tokens() const { return data_->offsets.back(); }  // rows of the tensor
  int longest() const { return data_->longest; }

 private:
  struct Data {
    std::vector<int32_t> offsets, lengths;
    int longest = 0;
  };

  Segments(std::vector<int32_t> offsets, std::vector<int32_t> lengths) {
    require(!offsets.empty() && offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end()),
            "[segments] offsets must start at 0 and not decrease");
    auto data = std::make_shared<Data>();
    const size_t count = offsets.size() - 1;
    if (lengths.empty()) {
      for (size_t i = 0; i < count; ++i) lengths.push_back(offsets[i + 1] - offsets[i]);
    }
    require(lengths.size() == count, "[segments] expected ", count, " lengths, got ", lengths.size());
    for (size_t i = 0; i < count; ++i) {
      require(lengths[i] >= 0 && lengths[i] <= offsets[i + 1] - offsets[i], "[segments] segment ", i, " has room for ",
              offsets[i + 1] - offsets[i], " rows, got ", lengths[i]);
      data->longest = std::max(data->longest, lengths[i]);
    }
    data->offsets = std::move(offsets);
    data->lengths = std::move(lengths);
    data_ = std::move(data);
  }

  std::shared_ptr<const Data> data_;
};

}  // namespace gyre
