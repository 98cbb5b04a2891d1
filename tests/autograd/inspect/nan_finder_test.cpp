#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "gyre/autograd/inspect/tensor_stats.h"
#include "gyre/autograd/ops.h"

namespace gyre {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_CASE("describe_stats gives range, NaNs and infinities of a tensor") {
  CHECK(describe_stats(Tensor::from({2, 2}, std::vector<float>{-3, 0, 1, 800})) == "(2, 2), all in [-3, 800]");
  CHECK(describe_stats(Tensor::from({4}, std::vector<float>{NAN, kInfinity, 1, -2})) ==
        "(4) with 1 NaN and 1 infinite, the others in [-2, 1]");
  CHECK(describe_stats(Tensor::from({1}, std::vector<float>{NAN})) == "(1) with 1 NaN and 0 infinite, the others none");
  CHECK(compute_stats(Tensor::from({3}, std::vector<float>{3, NAN, -4})).norm == 5);
}

struct Pass {
  Parameters parameters;
  NanFinder finder;

  // A linear layer with all weights w, and GELU.
  void run(float w, float cotangent) {
    parameters.add("layer.weight", {2, 2}, Init::constant(w));
    parameters.allocate(1);
    Tape tape(cpu_kernels(), {.record = true, .training = true, .seed = 1});
    tape.add_observer(finder);
    const Tape::Scope scope(tape, "encoder.layer.0");
    const Var x = tape.constant(Tensor::from({1, 2}, std::vector<float>{1e30F, 1e30F}));
    const Var y = gelu(linear(x, tape.parameter(parameters[0])));
    tape.backward(y, Tensor::from({1, 2}, std::vector<float>{cotangent, 1}));
  }
};

TEST_CASE("a finite pass has an empty report") {
  Pass pass;
  pass.run(1e-30F, 1e-3F);
  CHECK(pass.finder.report().empty());
}

TEST_CASE("the report names the first op with a non-finite value, and its inputs") {
  Pass pass;
  pass.run(1e30F, 1);
  CHECK(pass.finder.report() ==
        "forward: linear in encoder.layer.0 gives (1, 2) with 0 NaN and 2 infinite, the others none; input 0: (1, 2), "
        "all in [1e+30, 1e+30]; input 1: (2, 2), all in [1e+30, 1e+30]");
}

TEST_CASE("the report names the first op that computes a non-finite gradient, and the parameter") {
  Pass pass;
  pass.run(1e-30F, 3e38F);
  CHECK(pass.finder.report().starts_with(
      "backward: linear in encoder.layer.0 gives its input 1 (layer.weight) the gradient (2, 2) with"));
}

}  // namespace
}  // namespace gyre
