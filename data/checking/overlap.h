// Finds the sentences of a held-out set that occur in another set.
#pragma once

#include <utility>
#include <vector>

#include "gyre/data/checking/checked_rows.h"

namespace gyre {

// Keys of one kind, such as source sentences. First add_held_out() all keys of one set, then
// look_up() those of the other.
class KeyMatches {
 public:
  void add_held_out(const TextHash& key, uint64_t line);
  void look_up(const TextHash& key, uint64_t line);
  uint64_t count() const;  // lines of the held-out set that occur in the other
  // The first matches: the line of the held-out set and the first equal line of the other.
  std::vector<std::pair<uint64_t, uint64_t>> first(size_t count) const;

 private:
  struct Row {
    uint64_t line;
    size_t key;
  };
  TextHashTable table_;            // hash to the number of a distinct key, from 1
  std::vector<uint64_t> seen_at_;  // first line of the other set that has each distinct key, or 0
  std::vector<Row> rows_;
};

// Source sentences, target sentences and pairs of two sets.
struct Overlap {
  size_t held_out = 0, other = 0;  // indices of the sets
  KeyMatches source, target, pairs;

  void add_held_out(const CheckedRow& row);
  void look_up(const CheckedRow& row);
};

}  // namespace gyre
