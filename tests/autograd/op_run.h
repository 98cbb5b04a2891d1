// Runs rows of the op table and compares their results.
#pragma once

#include <vector>

#include "gyre/autograd/gradcheck/op_cases.h"
#include "tests/threads_in_scope.h"

namespace gyre {

// The rows whose names contain the text of the environment variable GYRE_OPS; all rows without it.
std::vector<OpCase> chosen_rows();

// Runs the row's op on leaves that hold its inputs.
Var record(const OpCase& row, Tape& tape);

// Whether the row runs in bf16: no input is both data and parameter.
inline bool runs_in_bf16(const OpCase& row) { return row.name != "linear/by-itself"; }

struct OpRun {
  Tensor output;
  std::vector<Tensor> gradients;  // gradients by input; undefined for a frozen input
};

// Runs forward, and backward from a random cotangent, with data of this dtype. Input `frozen` is a constant; -1: none.
OpRun run_op(Kernels& kernels, const OpCase& row, DType dtype, int frozen = -1);
// The same with the composed definitions of all ops.
OpRun run_composed(Kernels& kernels, const OpCase& row, DType dtype);
// Runs the composed definitions in f64, on the inputs rounded to dtype, from the same cotangent: the exact result. For
// bf16 it has the roundings between the ops, but not that of the output.
OpRun run_exactly(const OpCase& row, DType dtype);

// The largest difference, divided by the largest expected magnitude, but at least by `floor`. NaN if a difference is
// NaN or the sizes differ.
double relative_error(const Tensor& actual, const Tensor& expected, double floor = 0);
double largest_magnitude(const std::vector<Tensor>& tensors);

// Whether the tensors have equal shapes, dtypes and bits. Two undefined tensors are equal.
bool same_bits(const Tensor& a, const Tensor& b);
void check_same_bits(const OpRun& a, const OpRun& b);

// Checks that NaN in the last segment of a batch changes no bit of attention's outputs and gradients in the others.
void check_apart_from_nan(Kernels& kernels, DType dtype);

}  // namespace gyre
