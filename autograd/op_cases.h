// One table for every differentiable op: a row per op and variant, with inputs of awkward sizes, the op itself and its
// composition from basic ones. Tests, `gyre gradcheck` and new kernels all walk it: add a row for every new op.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/gradcheck.h"
#include "autograd/reference.h"

namespace gyre {

struct OpCase {
  using Reference = std::function<reference::Value(const std::vector<reference::Value>&)>;
  std::string name;                // "rope/half-split": op, variant
  std::vector<NamedInput> inputs;  // f64; vectors are one row of the reference
  std::vector<bool> parameters;    // by input: it is a parameter, f32 beside bf16 data
  TapeFunction op;
  Reference reference;
};

// How every tape that runs a row must be made: the reference knows the dropout masks that follow from it.
constexpr Tape::Options kOpCaseTape{.record = true, .training = true, .seed = 20240607};

std::vector<OpCase> op_cases();
// Rows called `name`, or whose op is `name`, or all for "all". Throws UsageError when there is none.
std::vector<OpCase> op_cases(std::string_view name);

struct OpCheck {
  std::string op;
  std::vector<GradcheckResult> inputs;
};

// Finite differences of the rows that op_cases(name) gives, on these kernels.
std::vector<OpCheck> run_gradcheck(std::string_view name, Kernels& kernels,
                                   const GradcheckOptions& options = {.tape = kOpCaseTape}, DType dtype = DType::f64);

}  // namespace gyre
