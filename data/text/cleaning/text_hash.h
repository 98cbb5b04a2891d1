// 128-bit hashes of texts, and a compact table of them that finds repeated texts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace gyre {

struct TextHash {
  uint64_t high = 0, low = 0;
  bool operator==(const TextHash&) const = default;
};

// Not cryptographic: texts made on purpose can collide. Of n distinct texts, two collide with a probability of about
// n^2 / 2^129, that is 3e-26 for 4.5 million.
TextHash hash_text(std::string_view text, TextHash seed = {});

// The key of a pair of texts, from the hash of each.
inline TextHash pair_key(const TextHash& first, const TextHash& second) {
  return hash_text({reinterpret_cast<const char*>(&second), sizeof second}, first);
}

// Maps hashes to numbers above 0, in 24 bytes per slot and 32 to 64 bytes per hash.
class TextHashTable {
 public:
  TextHashTable();
  // Returns the number of the hash; adds it with `number` and returns 0 if it is new.
  uint64_t find_or_add(const TextHash& hash, uint64_t number);
  uint64_t find(const TextHash& hash) const;  // 0 if there is none
  uint64_t size() const { return size_; }

 private:
  struct Slot {
    TextHash hash;
    uint64_t number = 0;  // 0: free
  };
  size_t slot_of(const TextHash& hash) const;  // slot of the hash, or the free one where it belongs
  void grow();

  std::vector<Slot> slots_;  // a power of two of them
  uint64_t size_ = 0;
};

}  // namespace gyre
