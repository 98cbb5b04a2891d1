// Derivatives by central differences: what gradients are checked against.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace gyre {

struct NamedInput {
  std::string name;
  Tensor value;
};

// A function of tensors whose entries can be moved, contracted with a cotangent: <cotangent, evaluate()>.
struct MovableFunction {
  std::vector<NamedInput> inputs;    // f64, on any device; moved in place
  std::function<Tensor()> evaluate;  // the outputs for what the inputs hold now: f64, on the CPU
  Tensor cotangent;                  // f64, on the CPU, of the shape of the outputs
};

struct Difference {
  double value = 0;
  double noise = 0;  // what rounding in the evaluations of f may leave in the value
};

// The derivative by one entry (flat) of an input, from four values of f, two on either side; the input is put back.
//   f'(x) = (8 (f(x + h) - f(x - h)) - (f(x + 2h) - f(x - 2h))) / 12h + O(h^4)   (Abramowitz & Stegun 25.3.6)
// h is `step` times max(1, |x|).
Difference central_difference(const MovableFunction& f, size_t input, int64_t entry, double step);

}  // namespace gyre
