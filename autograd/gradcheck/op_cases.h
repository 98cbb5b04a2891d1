// The table of all differentiable ops, with a row per op and variant: inputs of awkward sizes, the op itself, and its
// reference, composed of basic ops. Unit tests, `gyre gradcheck` and tests of new kernels all use it. Add a row for
// every new op.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/autograd/reference.h"

namespace gyre {

struct OpCase {
  using Reference = std::function<reference::Value(const std::vector<reference::Value>&)>;
  std::string name;                // op/variant: "rope/half-split"
  std::vector<NamedInput> inputs;  // f64; in the reference, a vector is a matrix of one row
  std::vector<bool> parameters;    // whether an input is a parameter, which stays f32 when data is bf16
  TapeFunction op;
  Reference reference;
};

// Options of every tape that runs a row: the references use the dropout masks that follow from this seed.
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
