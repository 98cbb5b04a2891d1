// Compares gradients with finite differences in f64, for functions of tensors (ops) and of parameters (models). A NaN
// fails the check.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gyre/autograd/tape.h"
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

struct GradcheckOptions {
  double step = 0;            // step of the central difference, multiplied by max(1, |x|); 0: gradcheck_step
  double tolerance = 0;       // bound on GradcheckEntry::error; 0: gradcheck_tolerance
  int64_t max_entries = 100;  // limit per input; a larger input is sampled
  uint64_t seed = 1;          // seed of the cotangent and of the sample
  Tape::Options tape{.training = true, .seed = 1};
};

// Default bound on the error of gradients computed in f32 or f64. f64: 1e-6, the rounding error of the differences.
// f32: 5e-3, since a gradient keeps few of its seven digits where large terms cancel: layer norm multiplies their
// rounding error by up to 1/sqrt(epsilon) = 316. A missing factor or term causes a far larger error.
double gradcheck_tolerance(DType dtype);
// Default step of the differences. f64: 1e-4, for which the rounding error of f (1e-16 / step) and the truncation error
// of the formula (step^4) are both far below the bound. f32: 1e-6, with a larger rounding error but fewer differences
// across kinks.
double gradcheck_step(DType dtype);

// Comparison of one entry: error = |analytic - numeric| / max(|analytic|, |numeric|, floor). The floor keeps rounding
// errors of a zero gradient from counting as errors. In f64 the floor is the noise of the difference divided by 1e-6,
// and at least 1e-6. It does not depend on other gradients, so even one that is 1e-8 of the largest is checked. In f32
// terms that cancel leave larger rounding errors, in proportion to their size: the floor is a hundredth of the largest
// gradient of all inputs, and at least 1e-2 (the cotangent is near 1).
//
// A difference across a kink (as of relu) is not a derivative. An entry beyond the bound is therefore measured again
// with a tenth of the step, then with a hundredth. A new measurement replaces the first if it differs from it by more
// than their noise and is nearer to the analytic gradient. A wrong gradient disagrees with all of them.
struct GradcheckEntry {
  int64_t index = -1;  // flat index; -1: no entry was compared
  double analytic = 0, numeric = 0, error = 0;
  int retries = 0;  // measurements with a smaller step
};

// True if a's error is larger than b's; NaN counts as infinity.
bool is_worse(const GradcheckEntry& a, const GradcheckEntry& b);

struct GradcheckResult {
  std::string input;
  std::vector<GradcheckEntry> entries;  // the compared entries, ordered by index
  bool passed = true;

  GradcheckEntry worst() const;
  int64_t retried_entries() const;  // number of entries measured more than once
};

bool all_passed(const std::vector<GradcheckResult>& results);

// A function to be checked. Its result must depend only on its inputs and on the tape's options.
using TapeFunction = std::function<Var(Tape&, const std::vector<Var>&)>;

// Returns one result per input. Inputs must be f64, on the CPU; throws otherwise. With dtype f32, inputs are rounded to
// f32, and the gradients of f in f32 are compared with differences of f in f64 at the same point. The output is
// contracted with a random cotangent and never summed: a sum hides errors in ops whose output has a constant sum, such
// as softmax.
std::vector<GradcheckResult> gradcheck(Kernels& kernels, const TapeFunction& f, const std::vector<NamedInput>& inputs,
                                       const GradcheckOptions& options = {}, DType dtype = DType::f64);

// A scalar function of a set of parameters.
struct ParameterFunction {
  Parameters& parameters;
  std::function<Var(Tape&)> record;  // depends only on the parameters' values and on the tape's options
};

// Returns one result per trainable parameter of f, and overwrites f's gradients. The sample prefers entries with a
// nonzero gradient, because no token of the batch looks up most rows of a table. `exact` is the same function with f64
// parameters, and receives f's values; if f itself is f64, `exact` may be f.
std::vector<GradcheckResult> gradcheck(Kernels& kernels, const ParameterFunction& f, const ParameterFunction& exact,
                                       const GradcheckOptions& options = {});

// Standard normal numbers: element i is random_normal(seed, stream, i).
Tensor normal_tensor(const Shape& shape, DType dtype, uint64_t seed, uint64_t stream);

}  // namespace gyre
