#include "gyre/data/checking/overlap.h"

#include <algorithm>

namespace gyre {

void KeyMatches::add_held_out(const TextHash& key, uint64_t line) {
  const uint64_t next = seen_at_.size() + 1, known = table_.find_or_add(key, next);
  if (known == 0) seen_at_.push_back(0);
  rows_.push_back({line, size_t(known == 0 ? next : known) - 1});
}

void KeyMatches::look_up(const TextHash& key, uint64_t line) {
  const uint64_t known = table_.find(key);
  if (known != 0 && seen_at_[known - 1] == 0) seen_at_[known - 1] = line;
}

uint64_t KeyMatches::count() const {
  return uint64_t(std::count_if(rows_.begin(), rows_.end(), [&](const Row& row) { return seen_at_[row.key] != 0; }));
}

std::vector<std::pair<uint64_t, uint64_t>> KeyMatches::first(size_t count) const {
  std::vector<std::pair<uint64_t, uint64_t>> matches;
  for (const Row& row : rows_) {
    if (matches.size() < count && seen_at_[row.key] != 0) matches.emplace_back(row.line, seen_at_[row.key]);
  }
  return matches;
}

void Overlap::add_held_out(const CheckedRow& row) {
  source.add_held_out(row.sides[0].key, row.line);
  target.add_held_out(row.sides[1].key, row.line);
  pairs.add_held_out(pair_key(row.sides[0].key, row.sides[1].key), row.line);
}

void Overlap::look_up(const CheckedRow& row) {
  source.look_up(row.sides[0].key, row.line);
  target.look_up(row.sides[1].key, row.line);
  pairs.look_up(pair_key(row.sides[0].key, row.sides[1].key), row.line);
}

}  // namespace gyre
