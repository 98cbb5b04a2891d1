// Input check of the metrics over parallel lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/error.h"

namespace gyre {

using Lines = std::vector<std::string>;

// Throws an Error if there are no hypotheses or references, or if a reference has a different number of lines.
inline void require_parallel(std::string_view metric, const Lines& hypotheses, const std::vector<Lines>& references) {
  require(!hypotheses.empty(), "[", metric, "] expected at least one hypothesis, got none");
  require(!references.empty(), "[", metric, "] expected at least one reference, got none");
  for (size_t i = 0; i < references.size(); ++i) {
    require(references[i].size() == hypotheses.size(), "[", metric,
            "] expected as many reference lines as hypotheses, got ", hypotheses.size(), " hypotheses and ",
            references[i].size(), " lines in reference ", i + 1);
  }
}

}  // namespace gyre
