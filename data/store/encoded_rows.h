// Encodes rows of text to ids, one chunk of rows at a time.
#pragma once

#include <array>
#include <vector>

#include "gyre/data/text/parallel_text.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

struct EncodedRow {
  TextRow row;
  std::array<std::vector<int32_t>, 2> ids;
};

// Reads and encodes the next chunk: enough rows to keep all threads busy, but a bounded number of bytes, however long
// the rows are. Returns false at the end. Encodes with OpenMP threads; the ids do not depend on their number.
bool read_encoded(const Vocabulary& vocabulary, ParallelText& text, std::vector<EncodedRow>& chunk);

}  // namespace gyre
