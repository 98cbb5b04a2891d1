// Rows of text as ids, a chunk at a time.
#pragma once

#include <array>
#include <vector>

#include "data/parallel_text.h"
#include "data/vocabulary.h"

namespace gyre {

struct EncodedRow {
  TextRow row;
  std::array<std::vector<int32_t>, 2> ids;
};

// The next rows of the text, as many as keep the threads busy and fit into little memory however long they are; false
// at the end. Encoding uses OpenMP's threads; the ids do not hang on their number.
bool read_encoded(const Vocabulary& vocabulary, ParallelText& text, std::vector<EncodedRow>& chunk);

}  // namespace gyre
