// Checks that a model has positions for the longest sequences of its training data.
#pragma once

#include <cstdint>
#include <string>

#include "gyre/core/option_checks.h"

namespace gyre {

// Throws a UsageError if a sequence of --max-length tokens has more tokens than the model has positions. `option`: for
// the message.
inline void require_positions(int64_t max_length, int64_t positions, const std::string& option = "--max-length") {
  expect(max_length <= positions, option,
         concat("at most ", positions, ", the number of positions of the model (see --max-positions)"), max_length);
}

}  // namespace gyre
