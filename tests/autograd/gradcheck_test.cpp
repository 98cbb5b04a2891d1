// The gradient check itself: a wrong gradient must not pass.
#include "autograd/gradcheck.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "autograd/op_cases.h"
#include "autograd/ops.h"

using namespace gyre;

namespace {

// y = x^2 with a backward of the test's choice: dx_i = slope(i, x_i) * dy_i.
using Slope = double (*)(int64_t i, double x);
struct Square final : Op {
  Slope slope;
  explicit Square(Slope s) : slope(s) {}
  std::string_view name() const override { return "square"; }
  void backward(Backward& b) override {
    const Tensor dx = b.dinput(0);
    for (int64_t i = 0; i < dx.size(); ++i) {
      dx.data<double>()[i] = slope(i, b.input(0).data<double>()[i]) * b.doutput().data<double>()[i];
    }
  }
};

TapeFunction square_with(Slope slope) {
  return [slope](Tape& tape, const std::vector<Var>& in) {
    Tensor y = in[0].value().clone();
    for (double& x : y.span<double>()) x *= x;
    return tape.record(std::make_unique<Square>(slope), y, {in[0]});
  };
}

std::vector<NamedTensor> some_input(int64_t n) { return {{"x", normal_tensor({1, n}, DType::f64, 5, 0)}}; }

GradcheckResult check(Slope slope) { return gradcheck(cpu_kernels(), square_with(slope), some_input(13))[0]; }

// y = softmax(x), whose backward forgets everything.
struct ForgetfulSoftmax final : Op {
  std::string_view name() const override { return "softmax"; }
  void backward(Backward& b) override { b.dinput(0).zero(); }
};

}  // namespace

TEST_CASE("gradcheck passes a right gradient") {
  const GradcheckResult result = check([](int64_t, double x) { return 2 * x; });
  CHECK(result.passed);
  CHECK_LE(result.error, 1e-7);
}

TEST_CASE("gradcheck catches a wrong gradient") {
  CHECK_FALSE(check([](int64_t, double x) { return 3 * x; }).passed);
  CHECK_FALSE(check([](int64_t, double x) { return -2 * x; }).passed);
  CHECK_FALSE(check([](int64_t, double) { return 0.0; }).passed);
  CHECK_FALSE(check([](int64_t, double x) { return 2 * x * (1 + 1e-5); }).passed);
}

TEST_CASE("gradcheck names the one entry that is wrong") {
  const GradcheckResult result = check([](int64_t i, double x) { return i == 7 ? 2.5 * x : 2 * x; });
  CHECK_FALSE(result.passed);
  CHECK_EQ(result.input, "x");
  CHECK_EQ(result.worst_index, 7);
  CHECK_EQ(result.analytic, doctest::Approx(1.25 * result.numeric));
  CHECK_EQ(result.error, doctest::Approx(0.2));
  REQUIRE_GT(result.entries.size(), 7);
  for (const GradcheckEntry& entry : result.entries) {
    CAPTURE(entry.index);
    CHECK_EQ(entry.error > 1e-6, entry.index == 7);
  }
}

TEST_CASE("gradcheck fails NaN, wherever it stands") {
  const GradcheckResult first = check([](int64_t i, double x) { return i == 0 ? std::nan("") : 2 * x; });
  CHECK_FALSE(first.passed);
  CHECK_EQ(first.worst_index, 0);
  const GradcheckResult last = check([](int64_t i, double x) { return i == 12 ? std::nan("") : 2 * x; });
  CHECK_FALSE(last.passed);
  CHECK_EQ(last.worst_index, 12);
  CHECK_FALSE(check([](int64_t, double) { return std::nan(""); }).passed);
  CHECK_FALSE(check([](int64_t, double) { return std::numeric_limits<double>::infinity(); }).passed);
}

TEST_CASE("gradcheck fails a forward that gives NaN") {
  const TapeFunction f = [](Tape&, const std::vector<Var>& in) { return scale(in[0], std::nan("")); };
  CHECK_FALSE(gradcheck(cpu_kernels(), f, some_input(3))[0].passed);
}

TEST_CASE("gradcheck catches what the sum of the outputs would hide") {
  const TapeFunction f = [](Tape& tape, const std::vector<Var>& in) {
    const Tensor y = in[0].value().like();
    tape.kernels().log_softmax(y, in[0].value());
    for (double& v : y.span<double>()) v = std::exp(v);
    return tape.record(std::make_unique<ForgetfulSoftmax>(), y, {in[0]});
  };
  CHECK_FALSE(gradcheck(cpu_kernels(), f, some_input(5))[0].passed);
}

TEST_CASE("gradcheck samples a large input, the same entries each time") {
  int evaluations = 0;
  const TapeFunction f = [&](Tape&, const std::vector<Var>& in) {
    ++evaluations;
    return scale(in[0], 2);
  };
  const auto first = gradcheck(cpu_kernels(), f, some_input(1000), {.max_entries = 10});
  CHECK_EQ(evaluations, 4 * 10 + 2);
  CHECK(first[0].passed);
  CHECK_EQ(first[0].worst_index, gradcheck(cpu_kernels(), f, some_input(1000), {.max_entries = 10})[0].worst_index);
}

TEST_CASE("gradcheck reports each input by itself") {
  const TapeFunction f = [](Tape& tape, const std::vector<Var>& in) {
    return add(scale(in[0], 2), square_with([](int64_t, double) { return 1.0; })(tape, {in[1]}));
  };
  auto inputs = some_input(4);
  inputs.push_back({"y", normal_tensor({1, 4}, DType::f64, 6, 0)});
  const auto results = gradcheck(cpu_kernels(), f, inputs);
  CHECK_EQ(results.size(), 2);
  CHECK(results[0].passed);
  CHECK_FALSE(results[1].passed);
  CHECK_EQ(results[1].input, "y");
}

TEST_CASE("gradcheck wants f64") {
  const std::vector<NamedTensor> inputs{{"x", normal_tensor({1, 2}, DType::f32, 5, 0)}};
  const TapeFunction f = [](Tape&, const std::vector<Var>& in) { return scale(in[0], 2); };
  CHECK_THROWS_WITH_AS(gradcheck(cpu_kernels(), f, inputs), "[gradcheck] input x must be f64, got f32", Error);
}

TEST_CASE("rows of the op table are found by op, by row and by all") {
  CHECK_EQ(op_cases("rope/partial").size(), 1);
  CHECK_GT(op_cases("rope").size(), 5);
  CHECK_EQ(op_cases("all").size(), op_cases().size());
  CHECK_THROWS_AS(op_cases("rop"), UsageError);
  const std::vector<OpCheck> checks = run_gradcheck("rope/partial", cpu_kernels());
  REQUIRE_EQ(checks.size(), 1);
  CHECK(checks[0].passed);
  CHECK_EQ(checks[0].inputs.size(), 2);
  CHECK_EQ(checks[0].inputs[1].input, "frequencies");
}
