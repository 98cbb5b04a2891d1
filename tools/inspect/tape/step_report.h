// A recorded backward pass as JSON (gyre inspect step --json).
#pragma once

#include <vector>

#include "gyre/autograd/inspect/backward_trace.h"
#include "gyre/autograd/inspect/tensor_stats.h"
#include "gyre/core/io/json.h"

namespace gyre {

// Returns an array with one object per step, in backward order: node, op, module, formula, attributes, saved tensors,
// output, doutput and inputs. A tensor is an object with its shape, dtype, range, norm and numbers of NaN and infinite
// elements; an absent one is null. The gradient of an input includes the contribution of the step.
Json steps_json(const std::vector<BackwardStep>& steps);

// The object of a tensor with these statistics.
Json tensor_json(const Shape& shape, DType dtype, const TensorStats& stats);

}  // namespace gyre
