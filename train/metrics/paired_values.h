// Input check of the metrics over predictions and labels.
#pragma once

#include <cstddef>
#include <string_view>

#include "gyre/core/error.h"

namespace gyre {

// Throws an Error if there are no predictions, or if the numbers of predictions and labels differ.
inline void require_paired(std::string_view metric, size_t predictions, size_t labels) {
  require(predictions > 0, "[", metric, "] expected at least one prediction, got none");
  require(predictions == labels, "[", metric, "] expected as many labels as predictions, got ", predictions,
          " predictions and ", labels, " labels");
}

}  // namespace gyre
