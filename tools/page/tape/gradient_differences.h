// Finite differences of the loss of a step, to be shown beside its gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/autograd/inspect/tape_rows.h"
#include "tools/page/tape/step_recorder.h"
#include "tools/workload/workload.h"

namespace gyre {

// The derivative of the loss with respect to one element of a value: a central difference in f64.
struct GradientDifference {
  int64_t row = 0, column = 0;
  double value = 0;
};

// The elements of each node's gradient to be measured: the largest ones that the page shows, at most `most` in all, and
// fewer if the forward pass takes many FLOPs.
std::vector<std::vector<int64_t>> elements_to_measure(const std::vector<TapeRow>& rows,
                                                      const std::vector<RecordedNode>& nodes, int64_t most);

// By node. The loss is that of the batch drawn last and of page_tape_options(): dropout has the masks of the step.
// Converts the parameters to f64.
std::vector<std::vector<GradientDifference>> gradient_differences(Workload& work, Kernels& kernels,
                                                                  const std::vector<TapeRow>& rows,
                                                                  const std::vector<RecordedNode>& nodes, int64_t most);

}  // namespace gyre
