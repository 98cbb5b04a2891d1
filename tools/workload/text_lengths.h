// Lengths of real sentence pairs and their token batches. tools/bench/peers/torch_models.py forms the same batches.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

// Lengths in tokens: words and the end of sentence.
struct PairLengths {
  int32_t source = 0, target = 0;
  auto operator<=>(const PairLengths&) const = default;
};

using TokenBatch = std::vector<PairLengths>;

// Lengths of the lines of PREFIX.en and PREFIX.de, or of the synthetic corpus if the prefix is empty. Throws Error for
// unequal numbers of lines.
std::vector<PairLengths> read_lengths(const Path& prefix);
std::string describe_text(const Path& prefix);

// Sorts the pairs and fills batches until the longest sentence times the number of pairs reaches 4096. An incomplete
// last batch is dropped. The batches are ordered by mix(0, number). Throws Error if there is no full batch.
std::vector<TokenBatch> token_batches(std::vector<PairLengths> pairs);

// Batches of pairs whose sides have 25 to 35 tokens, uniformly distributed: 25 + mix(batch, number of the side) % 11.
std::vector<TokenBatch> random_batches(size_t batches, size_t pairs);

}  // namespace gyre
