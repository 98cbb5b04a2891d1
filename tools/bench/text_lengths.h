// Lengths of real sentence pairs, and token batches of them. tools/bench/torch_step.py forms the same ones.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "core/file.h"

namespace gyre {

// In tokens: words, and the end of the sentence.
struct PairLengths {
  int32_t source = 0, target = 0;
  auto operator<=>(const PairLengths&) const = default;
};

using TokenBatch = std::vector<PairLengths>;

// Of the lines of PREFIX.en and PREFIX.de; of the embedded corpus when the prefix is empty.
std::vector<PairLengths> read_lengths(const Path& prefix);
std::string describe_text(const Path& prefix);

// Sorted pairs, filled into a batch until its longest sentence times its number of pairs reaches 4096; the last batch
// is left out when it is not full. Their order is that of mix(0, number). Throws when there is none.
std::vector<TokenBatch> token_batches(std::vector<PairLengths> pairs);

// Batches of pairs whose sides have 25 to 35 tokens, evenly: 25 + mix(batch, number of the side) % 11.
std::vector<TokenBatch> random_batches(size_t batches, size_t pairs);

}  // namespace gyre
