// Learns the merges of byte-level BPE from counted words.
#pragma once

#include <string>
#include <vector>

#include "gyre/data/tokenizer/hugging_face/merges.h"
#include "gyre/data/tokenizer/training_text.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace gyre {

// words: distinct words as bytes, with their counts. pieces: those before the first merge, among them all bytes in
// GPT-2's notation; gets the pieces of the merges, up to `size` in all. Each merge takes the most frequent pair; the
// pair with the smaller ids wins a tie. Ends early if no pair is as frequent as min_frequency.
std::vector<ByteBpeMerge> learn_byte_merges(const CountedWords& words, size_t size, uint64_t min_frequency,
                                            std::vector<std::string>& pieces, const OnMerge& on_merge = {});

}  // namespace gyre
