// Runs rows of the op table and compares their results.
#pragma once

#include <vector>

#include "gyre/autograd/gradcheck/op_cases.h"
#include "tests/threads_in_scope.h"

namespace gyre {

struct OpRun {
  Tensor output;
  std::vector<Tensor> gradients;  // gradients by input; undefined for a frozen input
};

// Runs forward, and backward from a random cotangent, with data of this dtype. Input `frozen` is a constant; -1: none.
OpRun run_op(Kernels& kernels, const OpCase& row, DType dtype, int frozen = -1);
// Runs the row's reference in f64, on the inputs rounded to dtype, from the same cotangent.
OpRun run_reference(const OpCase& row, DType dtype);

// The largest difference, divided by the largest expected magnitude, but at least by `floor`. NaN if a difference is
// NaN or the sizes differ.
double relative_error(const Tensor& actual, const Tensor& expected, double floor = 0);
double largest_magnitude(const std::vector<Tensor>& tensors);

// Whether the tensors have equal shapes, dtypes and bits. Two undefined tensors are equal.
bool same_bits(const Tensor& a, const Tensor& b);
void check_same_bits(const OpRun& a, const OpRun& b);

}  // namespace gyre
