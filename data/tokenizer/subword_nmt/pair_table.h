// A table of adjacent pairs of symbols with their counts, for learning merges.
#pragma once

#include <cstdint>
#include <vector>

namespace gyre {

struct SymbolPair {
  int32_t left, right;
  int64_t recent = 0, full = 0;  // counts; see merge_learning.cpp
  bool is_recent = false;
  std::vector<uint32_t> words{};  // words that contain or contained the pair
};

// Numbers the pairs in the order in which they are first asked for. Open addressing with linear probing, because there
// are millions of pairs.
class PairTable {
 public:
  PairTable() : slots_(1024, kFree) {}

  uint32_t size() const { return uint32_t(pairs_.size()); }
  SymbolPair& operator[](uint32_t index) { return pairs_[index]; }
  const SymbolPair& operator[](uint32_t index) const { return pairs_[index]; }

  // Adds the pair if it is new.
  uint32_t index_of(int32_t left, int32_t right) {
    size_t slot = slot_of(left, right);
    if (slots_[slot] != kFree) return slots_[slot];
    if (2 * (pairs_.size() + 1) > slots_.size()) {
      grow();
      slot = slot_of(left, right);
    }
    slots_[slot] = uint32_t(pairs_.size());
    pairs_.push_back({left, right});
    return slots_[slot];
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;

  // The slot of the pair, or the free one for it. The number of slots is a power of two.
  size_t slot_of(int32_t left, int32_t right) const {
    const uint64_t key = uint64_t(uint32_t(left)) << 32 | uint32_t(right);
    size_t slot = ((key * 0x9E3779B97F4A7C15) >> 29) & (slots_.size() - 1);
    while (slots_[slot] != kFree && (pairs_[slots_[slot]].left != left || pairs_[slots_[slot]].right != right)) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }

  void grow() {
    slots_.assign(2 * slots_.size(), kFree);
    for (uint32_t index = 0; index < pairs_.size(); ++index) {
      slots_[slot_of(pairs_[index].left, pairs_[index].right)] = index;
    }
  }

  std::vector<SymbolPair> pairs_;
  std::vector<uint32_t> slots_;
};

}  // namespace gyre
