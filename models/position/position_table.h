// The option of the encodings that have a table with a row for each position.
#pragma once

#include "gyre/core/error.h"
#include "gyre/models/position/position.h"

namespace gyre {

struct PositionTableOptions {
  int64_t max_positions = 1024;  // rows of the table; a longer sentence is an error

  void declare(OptionList& list) {
    list.add(OnResume::another_model, "--max-positions,--max-source-positions", &max_positions, "TOKENS",
             "rows of the table of sinusoidal, learned and tupe; longer texts are an error",
             {.also_called = {"max-position-embeddings", "max-target-positions"},
              .elsewhere = {{{"max-source-positions"},
                             "fairseq",
                             "the longest source sentence",
                             "rows of the position tables; --max-length limits the sentences"}}});
  }
  // Throws "[encoding] ..." for a table without rows.
  void check(const char* encoding) const {
    require(max_positions >= 1, "[", encoding, "] max_positions must be at least 1, got ", max_positions);
  }
};

}  // namespace gyre
