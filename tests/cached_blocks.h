// The memory of saved tensors in blocks of the pool, for tests of memory use.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/core/memory.h"

namespace gyre {

// Returns the part of memory_stats().active_bytes that belongs to the outputs and saved tensors of the rows. Excludes
// `lent` tensors, which were allocated before the forward pass.
inline size_t cached_blocks(const std::vector<TapeRow>& rows, const std::function<bool(const SavedTensor&)>& lent) {
  const auto block = [](size_t bytes) {
    return (bytes + BlockPool::kAlignment - 1) / BlockPool::kAlignment * BlockPool::kAlignment;
  };
  size_t bytes = 0;
  for (const TapeRow& row : rows) {
    bytes += block(row.output_bytes);
    for (const SavedTensor& s : row.saved)
      if (s.holder == row.id && !lent(s)) bytes += block(s.bytes);
  }
  return bytes;
}

}  // namespace gyre
