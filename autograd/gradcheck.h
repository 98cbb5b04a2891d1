// Gradients against finite differences in f64, of functions of tensors (ops) and of functions of parameters (models).
// NaN fails.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/finite_differences.h"
#include "autograd/tape.h"

namespace gyre {

struct GradcheckOptions {
  double step = 0;            // of the central difference, times max(1, |x|); 0: gradcheck_step
  double tolerance = 0;       // on GradcheckEntry::error; 0: gradcheck_tolerance
  int64_t max_entries = 100;  // of an input; a larger one is sampled
  uint64_t seed = 1;          // of the cotangent and of the sample
  Tape::Options tape{.training = true, .seed = 1};
};

// The bound for gradients computed in f32 or f64. f64: 1e-6, what rounding leaves of the differences. f32: 5e-3, since
// a gradient keeps few of its seven digits where large terms cancel: layer norm multiplies their rounding by up to
// 1/sqrt(epsilon) = 316. A forgotten factor or term is larger by far.
double gradcheck_tolerance(DType dtype);
// f64: 1e-4, where the rounding of f (1e-16 / step) and the formula's error (step^4) are both far below the bound. f32:
// 1e-6, which rounds more and meets fewer kinks.
double gradcheck_step(DType dtype);

// error = |analytic - numeric| / max(|analytic|, |numeric|, floor): what rounding leaves of a zero is no error. In f64
// the floor is the noise of the difference itself over 1e-6, at least 1e-6, and does not depend on other gradients: one
// that is 1e-8 of the largest is checked too. In f32 rounding leaves more of terms that cancel, in proportion to
// them: the floor is a hundredth of the largest gradient of all inputs, at least 1e-2 (the cotangent is near 1).
//
// Differences across a kink (of relu) are no derivative, and a kink may be near: an entry beyond the bound is measured
// again with a tenth of the step, then with a hundredth. A measurement that differs from the first by more than their
// noise counts, if it comes nearer; a wrong gradient is wrong by all of them.
struct GradcheckEntry {
  int64_t index = -1;  // flat; -1: no entry was compared
  double analytic = 0, numeric = 0, error = 0;
  int retries = 0;  // with a smaller step
};

// Whether a's error is the larger one; NaN is the largest.
bool is_worse(const GradcheckEntry& a, const GradcheckEntry& b);

struct GradcheckResult {
  std::string input;
  std::vector<GradcheckEntry> entries;  // those compared, by index
  bool passed = true;

  GradcheckEntry worst() const;
  int64_t retried() const;  // entries measured more than once
};

bool all_passed(const std::vector<GradcheckResult>& results);

// What it records on the tape depends on its inputs and on the tape's options alone.
using TapeFunction = std::function<Var(Tape&, const std::vector<Var>&)>;

// One result per input. Inputs must be f64, on the CPU. With dtype f32 they are rounded to it and gradients are those
// of f in f32, against differences of f in f64 at the same place. The output is contracted with a RANDOM cotangent,
// never summed: sums hide errors wherever a gradient is constant along them (softmax's).
std::vector<GradcheckResult> gradcheck(Kernels& kernels, const TapeFunction& f, const std::vector<NamedInput>& inputs,
                                       const GradcheckOptions& options = {}, DType dtype = DType::f64);

// A scalar function of the parameters of a store.
struct ParameterFunction {
  Parameters& parameters;
  std::function<Var(Tape&)> record;  // depends on the parameters' values and on the tape's options alone
};

// One result per trainable parameter of f, whose gradients are overwritten. Sampled entries are mostly such with a
// gradient: most rows of a table are looked up by no token of a batch. f64: `exact` is f, or the same with parameters
// of its own. f32: `exact` is the same function in f64. It gets f's values.
std::vector<GradcheckResult> gradcheck(Kernels& kernels, const ParameterFunction& f, const ParameterFunction& exact,
                                       const GradcheckOptions& options = {});

// Standard normal numbers: element i is random_normal(seed, stream, i).
Tensor normal_tensor(const Shape& shape, DType dtype, uint64_t seed, uint64_t stream);

}  // namespace gyre
