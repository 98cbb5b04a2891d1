// Gradients against finite differences in f64. The output is contracted with a RANDOM cotangent, never summed: sums
// hide errors wherever a gradient is constant along them (softmax's). NaN fails.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/tape.h"

namespace gyre {

// A differentiable function: what it records on the tape depends on its inputs and on the tape's options alone.
using TapeFunction = std::function<Var(Tape&, const std::vector<Var>&)>;

struct NamedTensor {
  std::string name;
  Tensor value;
};

struct GradcheckOptions {
  double step = 1e-4;         // of the central difference (fourth order), times max(1, |x|)
  double tolerance = 1e-6;    // on GradcheckResult::error
  int64_t max_entries = 100;  // of an input; a larger one is sampled
  uint64_t seed = 1;          // of the cotangent and of the sample
  Tape::Options tape{.training = true, .seed = 1};
};

struct GradcheckEntry {
  int64_t index = -1;  // flat
  double analytic = 0, numeric = 0, error = 0;
};

// One input's worst entry. error = |analytic - numeric| / max(|analytic|, |numeric|, floor), where the floor is a
// hundredth of the largest gradient of all inputs, at least 1e-6: what rounding leaves of a zero is no error.
struct GradcheckResult {
  std::string input;
  int64_t worst_index = -1;  // flat; -1: no entry was compared
  double analytic = 0, numeric = 0, error = 0;
  bool passed = true;
  std::vector<GradcheckEntry> entries = {};  // all that were compared
};

// One result per input. Inputs must be f64, on the CPU.
std::vector<GradcheckResult> gradcheck(Kernels& kernels, const TapeFunction& f, const std::vector<NamedTensor>& inputs,
                                       const GradcheckOptions& options = {});

// Standard normal numbers: element i is random_normal(seed, stream, i).
Tensor normal_tensor(const Shape& shape, DType dtype, uint64_t seed, uint64_t stream);

}  // namespace gyre
