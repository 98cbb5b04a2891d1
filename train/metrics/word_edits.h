// The number of edits of TER between two sentences, with the search, the limits and the tie rules of sacreBLEU.
#pragma once

#include <cstdint>
#include <vector>

namespace gyre {

using WordIds = std::vector<int32_t>;

// Insertions, deletions, replacements and block shifts that turn the hypothesis into the reference. An empty reference
// takes as many edits as the hypothesis has words.
int64_t edits_with_shifts(WordIds hypothesis, const WordIds& reference);

}  // namespace gyre
