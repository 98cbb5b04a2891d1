// Checks the gradients of the two ops against finite differences. Exit status 1 if one is wrong. --wrong omits a term
// of RMS norm's dx, so that the check fails.
#include <gyre/autograd/gradcheck/gradcheck.h>

#include <cstdio>
#include <string_view>

#include "rms_norm.h"
#include "swiglu.h"

using namespace gyre;

template <class F>
bool passes(const char* name, const F& f, const std::vector<NamedInput>& inputs) {
  bool passed = true;
  for (const GradcheckResult& r : gradcheck(cpu_kernels(), f, inputs, {.tolerance = 1e-7})) {
    const GradcheckEntry worst = r.worst();
    std::printf("%s d%s: worst error %.1e, analytic %.9f, numeric %.9f\n", name, r.input.c_str(), worst.error,
                worst.analytic, worst.numeric);
    passed &= r.passed;
  }
  return passed;
}

int main(int argc, char** argv) {
  example::leave_out_a_term = argc > 1 && std::string_view(argv[1]) == "--wrong";
  const Tensor x = normal_tensor({5, 16}, DType::f64, 1, 0), y = normal_tensor({5, 16}, DType::f64, 1, 1);
  const Tensor gamma = normal_tensor({16}, DType::f64, 1, 2);
  const auto norm = [](Tape&, const std::vector<Var>& inputs) { return example::rms_norm(inputs[0], inputs[1]); };
  const auto gate = [](Tape&, const std::vector<Var>& inputs) { return example::swiglu(inputs[0], inputs[1]); };
  const bool norm_passes = passes("rms_norm", norm, {{"x", x}, {"gamma", gamma}});
  const bool gate_passes = passes("swiglu", gate, {{"a", x}, {"b", y}});
  return norm_passes && gate_passes ? 0 : 1;
}
