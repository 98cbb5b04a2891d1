// Numeric derivatives by central differences, the reference for gradient checks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gyre/core/tensor.h"

namespace gyre {

struct NamedInput {
  std::string name;
  Tensor value;
};

// The scalar function <cotangent, evaluate()> of tensors whose entries can be perturbed.
struct PerturbedFunction {
  std::vector<NamedInput> inputs;    // f64, on any device; perturbed in place
  std::function<Tensor()> evaluate;  // computes the outputs from the current inputs: f64, on the CPU
  Tensor cotangent;                  // f64, on the CPU, in the shape of the outputs
};

struct Difference {
  double value = 0;
  double noise = 0;  // estimated rounding error of the value, from the evaluations of f
};

// The derivative with respect to one entry (flat index) of an input, from four evaluations of f, two on either side.
// Restores the input.
//   f'(x) = (8 (f(x + h) - f(x - h)) - (f(x + 2h) - f(x - 2h))) / 12h + O(h^4)   (Abramowitz & Stegun 25.3.6)
// h is `step` times max(1, |x|).
Difference central_difference(const PerturbedFunction& f, size_t input, int64_t entry, double step);

}  // namespace gyre
