// The data of a data-parallel step of several ranks, for the page of a training step (gyre inspect page under mpirun).
#pragma once

#include <map>
#include <string>

#include "gyre/autograd/ops.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/communicator.h"
#include "tools/page/tape/tensor_sample.h"
#include "tools/workload/workload.h"

namespace gyre {

// The step that this rank has run alone: its part of the sums.
struct OwnStep {
  CrossEntropySums sums;
  std::map<std::string, int> nodes;                      // nodes of the parameters
  std::map<std::string, const TensorSample*> gradients;  // samples by parameter; none without influence on the loss
};

// Collective. Runs the step of the batches drawn last with all-reduce of the gradients. Returns an object on rank 0,
// and null on the others. Times are seconds.
// - parameters, the trainable ones: name, node, elements, is_table, sum, and the gradients of all ranks except rank 0,
//   whose gradients are in the nodes
// - buckets, in the order in which they are reduced: elements, node after whose backward it leaves, and parts:
//   [number of the parameter, first element, end]
// - ranks: loss, predictions, backward [node, begin, end], end_of_backward, end, buckets {leaves, begin, end}, lookups
//   {name, bytes, begin, end}
Json ranks_page_data(Workload& work, Kernels& kernels, Precision precision, Communicator& ranks, double bucket_mb,
                     const OwnStep& own, const SampleLimits& limits);

}  // namespace gyre
