// BPE dropout (Provilkov et al. 2019, arXiv 1910.13267): random segmentations of text for training. In every step of
// the encoding of a word, each possible merge is left out with probability p.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gyre/core/random.h"

namespace gyre {

// The random decisions for one text: a pure function of (probability, seed, stream).
class MergeDrops {
 public:
  MergeDrops(double probability, uint64_t seed, uint64_t stream)
      : limit_(uint64_t(probability * 0x1p32)), seed_(seed), stream_(stream) {}
  bool next() {
    if (limit_ == 0) return false;
    if (used_ % 4 == 0) words_ = philox(seed_, stream_, used_ / 4);
    return words_[used_++ % 4] < limit_;
  }

 private:
  uint64_t limit_;  // numerator of a fraction of 2^32
  uint64_t seed_, stream_, used_ = 0;
  std::array<uint32_t, 4> words_{};
};

struct BpeMerge {
  int32_t rank;    // merges of lower rank come first
  int32_t symbol;  // the merged symbol
};

struct BpePart {
  int32_t symbol;      // -1: occurs in no merge
  int32_t length = 0;  // length in the unit of the caller
};

// Merges the parts of a word until no possible merge is left that was not dropped. As in apply_bpe.py of subword-nmt, a
// step takes the pair with the lowest rank and merges all its occurrences that were not dropped in this step. `find`
// returns the merge of two symbols, or null. Lengths are added.
template <class Find>
void merge_with_drops(std::vector<BpePart>& parts, const Find& find, MergeDrops& drops) {
  std::vector<const BpeMerge*> merges(parts.size());  // merge of each part with the next
  const auto update = [&](size_t i) {
    merges[i] = i + 1 < parts.size() ? find(parts[i].symbol, parts[i + 1].symbol) : nullptr;
  };
  for (size_t i = 0; i < parts.size(); ++i) update(i);
  std::vector<size_t> kept;  // places of the merges that were not dropped
  while (true) {
    kept.clear();
    const BpeMerge* best = nullptr;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      if (merges[i] == nullptr || drops.next()) continue;
      if (best == nullptr || merges[i]->rank < best->rank) {
        best = merges[i];
        kept.clear();
      }
      if (merges[i] == best) kept.push_back(i);
    }
    if (best == nullptr) return;
    const BpeMerge merge = *best;
    size_t out = 0, next = 0;
    for (size_t i = 0; i < parts.size(); ++i, ++out) {
      parts[out] = parts[i];
      merges[out] = merges[i];
      while (next < kept.size() && kept[next] < i) ++next;
      if (next == kept.size() || kept[next] != i) continue;
      parts[out] = {merge.symbol, parts[i].length + parts[i + 1].length};
      merges[out] = nullptr;
      ++i;
    }
    parts.resize(out);
    for (size_t i = 0; i < out; ++i) {
      if (parts[i].symbol != merge.symbol) continue;
      update(i);
      if (i > 0) update(i - 1);
    }
  }
}

// Segments encoded text anew with dropped merges. Made by Vocabulary::bpe_dropout(), which must outlive it.
// Thread-safe.
class BpeDropout {
 public:
  virtual ~BpeDropout() = default;
  // Returns other ids for the text of `ids`, an encoded line without <s> and </s>. Pieces that no merge makes, such as
  // unknown ones, stay. Without dropped merges, returns `ids`.
  virtual std::vector<int32_t> segment(std::span<const int32_t> ids, MergeDrops& drops) const = 0;
};

}  // namespace gyre
