// Generates the embedded corpus: English-German sentence pairs about numbers, dates, clock times, prices and measures.
// Each English sentence has exactly one translation, so exact match is a fair metric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

struct SentencePair {
  std::string source, target;  // English and German: one UTF-8 sentence each, with capital letter and punctuation
  bool operator==(const SentencePair&) const = default;
};

enum class Split { train, heldout };

// Returns pair number `index` of the corpus with this seed: a pure function, with the same result on any machine.
SentencePair corpus_pair(uint64_t seed, uint64_t index);

// Returns the split of a pair. One German sentence in 50 is held out, independent of the seed. An English sentence
// determines the German one, so the splits share no sentence on either side.
Split split_of(const SentencePair& pair);

// Returns the first `count` distinct pairs of a split in the order of their index. Throws an Error if there are fewer.
std::vector<SentencePair> generate_corpus(uint64_t seed, Split split, size_t count);

}  // namespace gyre
