// The embedded corpus: English-German sentence pairs about numbers, dates, clock times, prices and measures, made on
// the spot. English determines German: one English sentence has one translation, so exact match is a fair measure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

struct SentencePair {
  std::string source, target;  // English, German; UTF-8, one sentence each, with capital letter and final mark
  bool operator==(const SentencePair&) const = default;
};

enum class Split { train, heldout };

// Pair number `index` of the corpus of this seed: a pure function, in any order, on any machine.
SentencePair corpus_pair(uint64_t seed, uint64_t index);

// One German sentence in 50 is held out, whatever the seed. Since English determines German, the splits share no
// sentence on either side.
Split split_of(const SentencePair& pair);

// The first `count` distinct pairs of the split, in the order of their index. Error when the corpus has no more.
std::vector<SentencePair> generate_corpus(uint64_t seed, Split split, size_t count);

}  // namespace gyre
