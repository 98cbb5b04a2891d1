// Results of the loss kernels.
#pragma once

#include <cstdint>

namespace gyre {

// Sums of a loss over the rows of a batch. Cross-entropy ignores rows with target < 0. Squared error sets nll = loss
// and correct = 0.
struct CrossEntropySums {
  double loss = 0;      // with label smoothing
  double nll = 0;       // without label smoothing
  int64_t tokens = 0;   // rows that are not ignored
  int64_t correct = 0;  // rows in which the target has the largest logit
};

}  // namespace gyre
