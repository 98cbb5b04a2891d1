// The k largest values of a row, without sorting the row. Most blocks are skipped, because they contain no value above
// the k-th largest so far.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace gyre::GYRE_CPU_NAMESPACE {

// The k largest values so far, in descending order; equal values in the order of insertion.
struct LargestColumns {
  float* values;
  int32_t* columns;
  int64_t k;

  void clear() const {
    std::fill_n(values, k, -std::numeric_limits<float>::infinity());
    std::fill_n(columns, k, -1);
  }
  float threshold() const { return values[k - 1]; }  // only values above it are inserted
  void insert(float x, int32_t column) const {
    int64_t slot = k - 1;
    for (; slot > 0 && values[slot - 1] < x; --slot) {
      values[slot] = values[slot - 1];
      columns[slot] = columns[slot - 1];
    }
    values[slot] = x;
    columns[slot] = column;
  }
  // Inserts those of n values whose columns begin at `first`. Most blocks and most of their parts have none.
  void insert_all(const float* x, int64_t n, int64_t first) const {
    constexpr int64_t kBlock = 64, kPart = 16;
    for (int64_t block = 0; block < n; block += kBlock) {
      const int64_t end = std::min(block + kBlock, n);
      if (!has_larger(x + block, end - block)) continue;
      for (int64_t part = block; part < end; part += kPart) {
        const int64_t last = std::min(part + kPart, end);
        if (!has_larger(x + part, last - part)) continue;
        for (int64_t j = part; j < last; ++j)
          if (x[j] > threshold()) insert(x[j], int32_t(first + j));
      }
    }
  }

 private:
  // The compiler vectorizes this into a few comparisons.
  bool has_larger(const float* x, int64_t n) const {
    const float lowest = threshold();
    int above = 0;
    for (int64_t j = 0; j < n; ++j) above |= int(x[j] > lowest);
    return above != 0;
  }
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
