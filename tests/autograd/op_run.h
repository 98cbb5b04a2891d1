// Runs rows of the op table and compares what comes out.
#pragma once

#include <vector>

#include "autograd/op_cases.h"
#include "tests/threads_in_scope.h"

namespace gyre {

struct OpRun {
  Tensor output;
  std::vector<Tensor> gradients;  // by input; undefined for a frozen one
};

// Forward, and backward from a random cotangent, with data of type dtype. Input `frozen` is a constant; -1: none.
OpRun run_op(Kernels& kernels, const OpCase& row, DType dtype, int frozen = -1);
// The same by the row's composition of basic ops: in f64, on the inputs rounded to dtype.
OpRun run_reference(const OpCase& row, DType dtype);

// The largest difference, over the largest expected number; `floor` is the least that it is divided by. NaN stays NaN.
double relative_error(const Tensor& actual, const Tensor& expected, double floor = 0);
double largest_magnitude(const std::vector<Tensor>& tensors);

// Bit for bit; two undefined tensors are equal.
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace gyre
