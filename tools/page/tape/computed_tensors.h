// Tensors that an op computes on the way and does not store, for a page that shows the arithmetic of its results.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gyre/autograd/tape.h"
#include "tools/page/tape/tensor_sample.h"

namespace gyre {

// By the names that the scripts of the page use. "Own" tensors hold the first segment and the first head of keys and
// values with the heads of queries that share it.
// - attention: own q, own k, own v (rotated), S, P (without dropout), position scores, keep, query angles, key angles
// - rope: angles
// - linear_cross_entropy: logits and dlogits of the first rows
// - other ops with dropout: keep, the factors
using ComputedTensors = std::vector<std::pair<std::string, Tensor>>;
ComputedTensors computed_by_forward(const Tape& tape, int node);

// The gradient of the output of attention in the rows and columns of "own q". It exists only just before the node's
// backward.
Tensor own_gradient(const Node& node, const Shape& own_queries);

// The limits of samples of a node's computed tensors.
SampleLimits computed_limits(const Node& node, const SampleLimits& limits);

}  // namespace gyre
