// Compares every row of the op table, fused and composed, on a GPU with the CPU. Inputs are new in each run;
// GYRE_SEED=<seed> repeats a run. GYRE_OPS=<text> runs only the rows with names that contain the text.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gyre/autograd/elementary.h"
#include "gyre/autograd/ops.h"
#include "gyre/core/random.h"
#include "tests/autograd/op_run.h"
#include "tests/emulated_bf16.h"
#include "tests/errors.h"
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

// On the emulated GPU, whose orders differ only with a seed, the second run would repeat the first one without it.
bool repeats_in_another_order(const Kernels& gpu) {
  return !is_emulated(gpu) || std::getenv("GYRE_CUDA_EMULATION_SEED");
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
  if (repeats_in_another_order(gpu)) check_same_bits(run_op(gpu, result.row, dtype), result.actual);
}

// Rows with the sizes of tiles of tensor cores, which only bf16 uses. The other rows cover the plain kernels of
// attention, together with the wide heads among these.
bool is_for_tensor_cores(const OpCase& row) {
  return (row.name.starts_with("attention/tiles") || row.name.starts_with("attention/packed")) &&
         row.name.find("wide") == row.name.npos;
}

// Calls check(gpu, row, seed) for the chosen rows if there is a GPU.
template <class Check>
void for_each_row(const Check& check) {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  const uint64_t seed = new_seed();
  CAPTURE(seed);
  for (const OpCase& row : chosen_rows()) {
    CAPTURE(row.name);
    check(*gpu, row, seed);
  }
}

}  // namespace

TEST_CASE("every op on a GPU agrees with the CPU and is bitwise reproducible") {
  for_each_row([](Kernels& gpu, const OpCase& row, uint64_t seed) {
    if (!is_emulated(gpu) || !is_for_tensor_cores(row)) {
      check_row(gpu, row, seed, DType::f64, 1e-11);
      check_row(gpu, row, seed, DType::f32, 1e-4);
    }
    if (runs_in_bf16(row)) check_row(gpu, row, seed, DType::bf16, 2e-2);
  });
}

TEST_CASE("attention on a GPU keeps NaN in its segment") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  if (!is_emulated(*gpu)) check_apart_from_nan(*gpu, DType::f32);  // the plain kernels, which take minutes there
  check_apart_from_nan(*gpu, DType::bf16);
}

TEST_CASE("composed definitions on a GPU agree with those on the CPU") {
  for_each_row([](Kernels& gpu, const OpCase& fixed, uint64_t seed) {
    const OpCase row = with_new_inputs(fixed, seed);
    for (const DType dtype : {DType::f32, DType::bf16}) {
      if (dtype == DType::bf16 && !runs_in_bf16(row)) continue;
      CAPTURE(to_string(dtype));
      const OpRun actual = run_composed(gpu, row, dtype);
      const LargestError error =
          largest_error(actual, run_composed(cpu_kernels(), row, dtype), dtype == DType::bf16 ? 0.4 : 0.1);
      CAPTURE(error.gradient);
      CHECK_LE(error.value, dtype == DType::bf16 ? 2e-2 : 1e-4);
      check_same_bits(run_composed(gpu, row, dtype), actual);
    }
  });
}

TEST_CASE("backward begins on the GPU, from elementary ops and from losses") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  const Tensor numbers = Tensor::from<float>({3}, {1, -2, 3});
  const auto gradient = [&](const auto& output_of) {
    Tape tape(*gpu, {});
    const Var x = tape.leaf(numbers.to(gpu->device()));
    tape.backward(output_of(x));
    return tape.gradient(x).to_cpu().to_vector<float>();
  };
  const auto error = [](const Var& x) { return squared_error(x, Tensor::zeros({3})).loss; };
  CHECK(gradient([](const Var& x) { return sum(x * x); }) == std::vector<float>{2, -4, 6});
  CHECK(gradient(error) == std::vector<float>{2, -4, 6});
  CHECK(gradient([&](const Var& x) { return 0.5 * error(x); }) == std::vector<float>{1, -2, 3});

  Tape tape(*gpu, {});
  const Var x = tape.leaf(numbers.to(gpu->device()));
  CHECK_EQ(error_of([&] { tape.backward(x, numbers); }),
           concat("[backward] the cotangent must be on the output's device ", gpu->device(), ", got cpu"));
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
