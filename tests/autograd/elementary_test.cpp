// Tests of elementary ops beyond the op table: infinities and NaN as in PyTorch, fp32 functions over their whole range,
// ties, operands of two dtypes.
#include "gyre/autograd/elementary.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/emulated_bf16.h"

using namespace gyre;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

struct Fixture {
  Tape tape{cpu_kernels(), {}};
  Var leaf(const Shape& shape, const std::vector<float>& numbers) {
    return tape.leaf(Tensor::from<float>(shape, numbers));
  }
  Tensor ints(const Shape& shape, const std::vector<int32_t>& numbers) { return Tensor::from<int32_t>(shape, numbers); }
};

// Equal numbers up to rounding, or both NaN.
void check_numbers(const Tensor& actual, const std::vector<float>& expected) {
  REQUIRE(actual.size() == int64_t(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    const float number = actual.span<float>()[i];
    const float expected_number = expected[i];
    const bool close = std::abs(number - expected_number) <= 1e-6F * std::abs(expected_number);
    const bool equal = std::isfinite(expected_number) ? close : number == expected_number;
    CHECK((equal || (std::isnan(number) && std::isnan(expected_number))));
  }
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "infinities and NaN follow IEEE 754") {
  const Var x = leaf({5}, {kInfinity, -kInfinity, kNan, 0, -1});
  check_numbers(exp(x).value(), {kInfinity, 0, kNan, 1, std::exp(-1.0F)});
  check_numbers((2.0 / leaf({4}, {kInfinity, kNan, 0, -4})).value(), {0, kNan, kInfinity, -0.5});
  check_numbers(log(leaf({4}, {kInfinity, kNan, 0, -1})).value(), {kInfinity, kNan, -kInfinity, kNan});
  check_numbers(sqrt(leaf({4}, {kInfinity, kNan, 0, -1})).value(), {kInfinity, kNan, 0, kNan});
  check_numbers(sigmoid(leaf({3}, {kInfinity, -kInfinity, kNan})).value(), {1, 0, kNan});
  check_numbers(relu(leaf({4}, {kInfinity, -kInfinity, kNan, -1})).value(), {kInfinity, 0, kNan, 0});
  check_numbers(divide(leaf({3}, {1, -1, 0}), leaf({1}, {0})).value(), {kInfinity, -kInfinity, kNan});
  check_numbers(maximum(leaf({4}, {1, kNan, 2, -kInfinity}), leaf({4}, {kNan, 1, 3, -kInfinity})).value(),
                {kNan, kNan, 3, -kInfinity});
  check_numbers(max(leaf({2, 3}, {1, kNan, 2, -kInfinity, -kInfinity, -kInfinity}), 1).value(), {kNan, -kInfinity});
  check_numbers(softmax(leaf({2, 2}, {-kInfinity, 0, kNan, 0})).value(), {0, 1, kNan, kNan});
  CHECK(std::signbit((2 * leaf({1}, {-0.0F})).value().span<float>()[0]));
}

// A masked infinity does not become NaN in the gradient.
TEST_CASE_FIXTURE(Fixture, "masks hide infinities") {
  const Var x = leaf({2, 2}, {0, kInfinity, 1, kNan});
  const Var y = masked_fill(x, ints({2, 2}, {0, 1, 0, 1}), -1);
  check_numbers(y.value(), {0, -1, 1, -1});
  tape.backward(sum(y));
  check_numbers(tape.gradient(x), {1, 0, 1, 0});
}

TEST_CASE_FIXTURE(Fixture, "the largest elements share the gradient") {
  const Var x = leaf({2, 3}, {2, 2, 1, 0, 0, 0});
  tape.backward(sum(max(x, 1)));
  check_numbers(tape.gradient(x), {0.5, 0.5, 0, 1 / 3.0F, 1 / 3.0F, 1 / 3.0F});
}

TEST_CASE_FIXTURE(Fixture, "the smaller of a pair has no gradient, also if that of the pair is infinite") {
  const Var x = leaf({2}, {-1, 4}), zero = leaf({1}, {0});
  tape.backward(sum(sqrt(maximum(x, zero))));
  check_numbers(tape.gradient(x), {0, 0.25});
}

// Sums of 256 and 1 in bf16 are 256 again.
TEST_CASE("the gradient of bf16 rows is rounded once, however often a row is gathered") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  constexpr int64_t kRepeats = 1000;
  Tape tape(cpu_kernels(), {.precision = Precision::bf16});
  const Var x = tape.leaf(Tensor::zeros({1, 3}).to(DType::bf16));
  const Var y = gather_rows(x, Tensor::zeros({kRepeats}, DType::i32));
  tape.backward(y, Tensor::from<float>({kRepeats, 3}, std::vector<float>(3 * kRepeats, 1)).to(DType::bf16));
  CHECK(tape.gradient(x).to(DType::f32).to_vector<float>() == std::vector<float>(3, kRepeats));
}

TEST_CASE("fp32 functions over the whole range of their arguments") {
  const struct {
    const char* name;
    Var (*op)(const Var&);
    double (*expected)(double);
    double error;  // relative, or absolute below the smallest normal number
  } rows[] = {
      {"exp", &exp, [](double x) { return std::exp(x); }, 3e-7},
      {"log", &log, [](double x) { return std::log(x); }, 3e-7},
      {"erf", &erf, [](double x) { return std::erf(x); }, 6e-7},
  };
  constexpr int64_t kNumbers = int64_t{1} << 16;
  Tensor x = Tensor::empty({kNumbers});
  for (int64_t i = 0; i < kNumbers; ++i) x.span<float>()[size_t(i)] = std::bit_cast<float>(uint32_t(i) << 16 | 0x5A5A);
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const auto& row : rows) {
      CAPTURE(row.name);
      Tape tape(*kernels, {.record = false});
      const Tensor y = row.op(tape.constant(x)).value();
      int64_t wrong = 0;
      for (int64_t i = 0; i < kNumbers; ++i) {
        const auto expected = float(row.expected(x.span<float>()[size_t(i)]));
        const float number = y.span<float>()[size_t(i)];
        const double allowed = row.error * std::max(double(std::abs(expected)), 1.2e-38);
        const bool same = number == expected || (std::isnan(number) && std::isnan(expected));
        wrong += !same && !(std::abs(double(number) - double(expected)) <= allowed);
      }
      CHECK_EQ(wrong, 0);
    }
  }
}

TEST_CASE("a bf16 operand and an f32 parameter give bf16, and gradients of their dtypes") {
  const EmulatedBf16 emulated;
  Parameters parameters;
  Parameter& w = parameters.add("w", {3}, Init::constant(2));
  parameters.allocate(0);
  Tape tape(cpu_kernels(), {.precision = Precision::bf16});
  const Var x = tape.leaf(Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6}).to(DType::bf16));
  const Var y = multiply(add(x, tape.parameter(w)), tape.parameter(w));
  CHECK(y.value().dtype() == DType::bf16);
  tape.backward(sum(y));
  CHECK(tape.gradient(x).dtype() == DType::bf16);
  check_numbers(tape.gradient(x).to(DType::f32), {2, 2, 2, 2, 2, 2});
  check_numbers(w.gradient, {1 + 4 + 8, 2 + 5 + 8, 3 + 6 + 8});  // sums of x + 2 w
}

TEST_CASE("as_stored() rounds f64 values and gradients on a tape for bf16 only") {
  const Tensor x = Tensor::from<double>({2}, {1.001, -3});
  const Tensor rounded = x.to(DType::f32).to(DType::bf16).to(DType::f64);
  const auto run = [&](Precision precision, Stored what) {
    Tape tape(cpu_kernels(), {.precision = precision});
    const Var leaf = tape.leaf(x);
    const Var y = as_stored(leaf, what);
    if (!y.value().shares_storage(x) || what == Stored::gradient) {
      tape.backward(y, x);
      return std::pair(y.value().to_vector<double>(), tape.gradient(leaf).to_vector<double>());
    }
    return std::pair(y.value().to_vector<double>(), std::vector<double>());
  };
  CHECK(run(Precision::fp32, Stored::value_and_gradient).first == x.to_vector<double>());
  CHECK(run(Precision::bf16, Stored::value_and_gradient) ==
        std::pair(rounded.to_vector<double>(), rounded.to_vector<double>()));
  CHECK(run(Precision::bf16, Stored::value) == std::pair(rounded.to_vector<double>(), x.to_vector<double>()));
  CHECK(run(Precision::bf16, Stored::gradient) == std::pair(x.to_vector<double>(), rounded.to_vector<double>()));
}

TEST_CASE_FIXTURE(Fixture, "cast() converts the value, and its gradient back") {
  const Var x = leaf({2}, {0.5F, 3});
  const Var y = cast(x, DType::f64);
  CHECK(y.value().dtype() == DType::f64);
  CHECK(cast(x, DType::f32).node() == x.node());
  tape.backward(y, Tensor::from<double>({2}, {2, 0.25}));
  check_numbers(tape.gradient(x), {2, 0.25F});
}
