// The merges of byte-pair encoding, and their application to a word.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gyre {

struct ByteBpeMerge {
  int32_t left, right, merged;  // ids of pieces
};

// Joins the adjacent pair of the earliest merge, the leftmost one first, until no pair is a merge (Sennrich et al.
// 2016).
class ByteBpeMerges {
 public:
  explicit ByteBpeMerges(const std::vector<ByteBpeMerge>& merges);  // if a pair occurs twice, its last place counts

  // Memory that apply() uses again for the next word.
  struct Workspace {
    struct Symbol {
      int32_t id;
      uint32_t previous, next;  // indices of its neighbors
    };
    struct Candidate {
      int32_t rank;
      uint32_t left;  // index of a symbol
      int32_t merged;
      bool operator<(const Candidate& other) const {  // for a heap with the earliest merge on top
        return rank != other.rank ? rank > other.rank : left > other.left;
      }
    };
    std::vector<Symbol> symbols{};
    std::vector<Candidate> heap{};
  };
  // Replaces the ids of a word by those of its pieces, in O(n log n). Thread-safe with one `workspace` per thread.
  void apply(std::vector<int32_t>& ids, Workspace& workspace) const;

 private:
  struct Step {
    int32_t rank, merged;
  };

  const Step* find(int32_t left, int32_t right) const;
  void push(uint32_t left, Workspace& workspace) const;

  std::unordered_map<uint64_t, Step> steps_;  // by pair
};

}  // namespace gyre
