#include "gyre/data/text/cleaning/text_hash.h"

#include <algorithm>
#include <cstring>

#include "gyre/core/random.h"

namespace gyre {

namespace {

constexpr size_t kFirstSlots = 1024;

// Two chains of the finalizer of splitmix64. They start from different values, so they collide independently.
void absorb(TextHash& hash, uint64_t word) {
  hash.high = mix(hash.high ^ 0x6A09E667F3BCC908, word);  // fraction of the square root of 2
  hash.low = mix(hash.low ^ 0xBB67AE8584CAA73B, word);    // fraction of the square root of 3
}

}  // namespace

TextHash hash_text(std::string_view text, TextHash seed) {
  TextHash hash = seed;
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min<size_t>(8, text.size() - at));
    absorb(hash, word);
  }
  absorb(hash, text.size());
  return hash;
}

TextHashTable::TextHashTable() : slots_(kFirstSlots) {}

size_t TextHashTable::slot_of(const TextHash& hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash.low & mask;
  while (slots_[at].number != 0 && slots_[at].hash != hash) at = (at + 1) & mask;
  return at;
}

uint64_t TextHashTable::find(const TextHash& hash) const { return slots_[slot_of(hash)].number; }

uint64_t TextHashTable::find_or_add(const TextHash& hash, uint64_t number) {
  Slot& slot = slots_[slot_of(hash)];
  if (slot.number != 0) return slot.number;
  slot = {hash, number};
  if (++size_ * 4 > slots_.size() * 3) grow();
  return 0;
}

void TextHashTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.number != 0) slots_[slot_of(slot.hash)] = slot;
  }
}

}  // namespace gyre
