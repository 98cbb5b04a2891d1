// The share of lines that equal their reference.
#pragma once

#include <cstddef>

#include "gyre/train/metrics/text.h"

namespace gyre {

// Returns the percentage of hypotheses that equal their reference byte for byte, 0..100. Throws an Error with both line
// counts if they differ.
inline double exact_match(const Lines& hypotheses, const Lines& references) {
  require_parallel("exact match", hypotheses, {references});
  size_t equal = 0;
  for (size_t i = 0; i < hypotheses.size(); ++i) equal += hypotheses[i] == references[i];
  return 100.0 * double(equal) / double(hypotheses.size());
}

}  // namespace gyre
