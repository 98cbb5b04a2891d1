// The table of all differentiable ops, with a row per op and variant: inputs of awkward sizes, and the op. Unit tests,
// which compare the op with its composed definition, `gyre gradcheck` and tests of new kernels all use it. Add a row
// for every new op.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/autograd/gradcheck/gradcheck.h"

namespace gyre {

struct OpCase {
  std::string name;                // op/variant: "rope/half-split"
  std::vector<NamedInput> inputs;  // f64
  std::vector<bool> parameters;    // whether an input is a parameter, which stays f32 when data is bf16
  TapeFunction op;
};

// Options of every tape that runs a row: the same seed gives the fused op and its definition the same dropout masks.
constexpr Tape::Options kOpCaseTape{.record = true, .training = true, .seed = 20240607};

std::vector<OpCase> op_cases();
// Rows with this name or with this op, or all rows for "all". Throws UsageError if there are none.
std::vector<OpCase> op_cases(std::string_view name);

struct OpCheck {
  std::string op;
  std::vector<GradcheckResult> inputs;
};

// Runs gradcheck on the rows of op_cases(name), with these kernels.
std::vector<OpCheck> run_gradcheck(std::string_view name, Kernels& kernels,
                                   const GradcheckOptions& options = {.tape = kOpCaseTape}, DType dtype = DType::f64);

}  // namespace gyre
