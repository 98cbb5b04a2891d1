// Compares every row of the op table on a GPU with the CPU. Inputs are new in each run; GYRE_SEED=<seed> repeats a run.
// GYRE_OPS=<text> runs only the rows with names that contain the text.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/random.h"
#include "tests/autograd/op_run.h"
#include "tests/emulated_bf16.h"
#include "tests/gpu.h"

using namespace gyre;

namespace {

uint64_t new_seed() {
  const char* given = std::getenv("GYRE_SEED");
  return given ? std::stoull(given) : std::random_device()();
}

// Shuffles the elements of each input, which keeps their distance from the kinks of the row's op.
OpCase with_new_inputs(OpCase row, uint64_t seed) {
  for (NamedInput& input : row.inputs) {
    RandomStream random(seed, mix(hash_name(row.name), hash_name(input.name)));
    std::vector<double> numbers = input.value.to_vector<double>();
    random.shuffle(numbers);
    input.value = Tensor::from<double>(input.value.shape(), numbers);
  }
  return row;
}

struct LargestError {
  int gradient = -1;  // number of the gradient; -1: the output
  double value = 0;
};

// The largest relative error of the output and the gradients. Gradients that are small because rounded numbers cancel,
// as biases under R-Drop, are compared on the scale of `smallest_scale` of the largest gradient.
LargestError largest_error(const OpRun& actual, const OpRun& expected, double smallest_scale) {
  LargestError largest{.value = relative_error(actual.output, expected.output)};
  const double floor = smallest_scale * largest_magnitude(expected.gradients);
  for (size_t i = 0; i < expected.gradients.size(); ++i) {
    const double error = relative_error(actual.gradients[i], expected.gradients[i], floor);
    if (error > largest.value || std::isnan(error)) largest = {int(i), error};
  }
  return largest;
}

std::vector<OpCase> chosen_rows() {
  const char* text = std::getenv("GYRE_OPS");
  std::vector<OpCase> rows = op_cases();
  std::erase_if(rows, [&](const OpCase& row) { return text && row.name.find(text) == row.name.npos; });
  REQUIRE_FALSE(rows.empty());
  return rows;
}

struct Comparison {
  OpCase row;
  OpRun actual;
  LargestError error;
};

Comparison compare(Kernels& gpu, const OpCase& fixed, uint64_t seed, DType dtype) {
  OpCase row = with_new_inputs(fixed, seed);
  OpRun actual = run_op(gpu, row, dtype);
  const OpRun expected = run_op(cpu_kernels(), row, dtype);
  const LargestError error = largest_error(actual, expected, dtype == DType::bf16 ? 0.4 : 0.1);
  return {std::move(row), std::move(actual), error};
}

// In the gradient of rotary frequencies, large terms cancel if attention sees few positions. In bf16, rare inputs leave
// mostly their rounding errors.
bool is_rounding_error(const Comparison& c, DType dtype, double tolerance) {
  return dtype == DType::bf16 && c.error.gradient >= 0 &&
         c.row.inputs[size_t(c.error.gradient)].name == "frequencies" && c.error.value > tolerance &&
         c.error.value < 3 * tolerance;
}

void check_row(Kernels& gpu, const OpCase& fixed, uint64_t seed, DType dtype, double tolerance) {
  constexpr uint64_t kDraws = 3;
  CAPTURE(to_string(dtype));
  Comparison result = compare(gpu, fixed, seed, dtype);
  for (uint64_t draw = 1; draw < kDraws && is_rounding_error(result, dtype, tolerance); ++draw) {
    MESSAGE(fixed.name, " is compared with other inputs: the gradient of its frequencies differs by ",
            result.error.value);
    result = compare(gpu, fixed, seed + draw, dtype);
  }
  CAPTURE(result.error.gradient);
  CHECK_LE(result.error.value, tolerance);
  check_same_bits(run_op(gpu, result.row, dtype), result.actual);
}

void check_rows(Kernels& gpu) {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  const uint64_t seed = new_seed();
  CAPTURE(seed);
  for (const OpCase& fixed : chosen_rows()) {
    CAPTURE(fixed.name);
    check_row(gpu, fixed, seed, DType::f64, 1e-11);
    check_row(gpu, fixed, seed, DType::f32, 1e-4);
    if (fixed.name == "linear/by-itself") continue;  // one input is both data and parameter
    check_row(gpu, fixed, seed, DType::bf16, 2e-2);
  }
}

}  // namespace

TEST_CASE("every op on a GPU agrees with the CPU and is bitwise reproducible") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  check_rows(*gpu);
}

TEST_CASE("parameters have the same initial bits on every device, and gradcheck runs there") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  Parameters here, there;
  for (Parameters* p : {&here, &there}) {
    p->add("w", {7, 5}, Init::normal(1));
    p->add("b", {5}, Init::constant(0.5));
  }
  here.allocate(3);
  there.allocate(3, DType::f32, gpu->device());
  CHECK(there.values().device() == gpu->device());
  CHECK(same_bits(there.values().to_cpu(), here.values()));
  CHECK(same_bits(there[0].value.to_cpu(), here[0].value));
  for (const OpCheck& check : run_gradcheck("layer_norm", *gpu)) CHECK(all_passed(check.inputs));
}
