#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "autograd/tape_rows.h"
#include "core/block_pool.h"

namespace gyre {

// Bytes of memory_stats().active_bytes behind what the rows count as saved, but for tensors that were lent: those lay
// there before the forward pass.
inline size_t kept_blocks(const std::vector<TapeRow>& rows, const std::function<bool(const SavedTensor&)>& lent) {
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
