// Tests the gradient check itself: a wrong gradient must not pass.
#include "gyre/autograd/gradcheck/gradcheck.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gyre/autograd/gradcheck/op_cases.h"
#include "gyre/autograd/ops.h"
#include "tests/autograd/op_run.h"

using namespace gyre;

namespace {

// y = x^2, with a backward that the test chooses: dx_i = slope(i, x_i) * dy_i.
using Slope = double (*)(int64_t i, double x);
struct Square final : Op {
  Slope slope;
  explicit Square(Slope s) : slope(s) {}
  std::string_view name() const override { return "square"; }
  void backward(Backward& b) override {
    const Tensor x = b.input(0).to(DType::f64), dy = b.doutput().to(DType::f64), dx = x.like();
    for (int64_t i = 0; i < x.size(); ++i) {
      dx.data<double>()[i] = slope(i, x.data<double>()[i]) * dy.data<double>()[i];
    }
    b.dinput(0).copy_from(dx.to(b.input(0).dtype()));
  }
};

double right(int64_t, double x) { return 2 * x; }

Var square(const Var& x, Slope slope) {
  const Tensor y = x.value().to(DType::f64).clone();
  for (double& v : y.span<double>()) v *= v;
  return x.tape().record(std::make_unique<Square>(slope), y.to(x.value().dtype()), {x});
}

TapeFunction square_with(Slope slope) {
  return [slope](Tape&, const std::vector<Var>& in) { return square(in[0], slope); };
}

std::vector<NamedInput> some_input(int64_t n) { return {{"x", normal_tensor({1, n}, DType::f64, 5, 0)}}; }

GradcheckResult check(Slope slope, DType dtype = DType::f64) {
  return gradcheck(cpu_kernels(), square_with(slope), some_input(13), {}, dtype)[0];
}

// y = softmax(x) with a backward that always gives zero.
struct ForgetfulSoftmax final : Op {
  std::string_view name() const override { return "softmax"; }
  void backward(Backward& b) override { b.dinput(0).zero(); }
};

}  // namespace

TEST_CASE("gradcheck accepts a correct gradient") {
  const GradcheckResult result = check(right);
  CHECK(result.passed);
  CHECK_LE(result.worst().error, 1e-7);
  CHECK_EQ(result.entries.size(), 13);
  CHECK_EQ(result.retried_entries(), 0);
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
  CHECK_EQ(result.worst().index, 7);
  CHECK_EQ(result.worst().analytic, doctest::Approx(1.25 * result.worst().numeric));
  CHECK_EQ(result.worst().error, doctest::Approx(0.2));
  REQUIRE_GT(result.entries.size(), 7);
  for (const GradcheckEntry& entry : result.entries) {
    CAPTURE(entry.index);
    CHECK_EQ(entry.error > 1e-6, entry.index == 7);
  }
}

TEST_CASE("gradcheck fails a NaN or infinite gradient at any index") {
  const GradcheckResult first = check([](int64_t i, double x) { return i == 0 ? std::nan("") : 2 * x; });
  CHECK_FALSE(first.passed);
  CHECK_EQ(first.worst().index, 0);
  const GradcheckResult last = check([](int64_t i, double x) { return i == 12 ? std::nan("") : 2 * x; });
  CHECK_FALSE(last.passed);
  CHECK_EQ(last.worst().index, 12);
  CHECK_FALSE(check([](int64_t, double) { return std::nan(""); }).passed);
  CHECK_FALSE(check([](int64_t, double) { return std::numeric_limits<double>::infinity(); }).passed);
}

TEST_CASE("gradcheck fails a forward that gives NaN") {
  const TapeFunction f = [](Tape&, const std::vector<Var>& in) { return scale(in[0], std::nan("")); };
  CHECK_FALSE(gradcheck(cpu_kernels(), f, some_input(3))[0].passed);
}

TEST_CASE("gradcheck catches an error that a sum of the outputs would hide") {
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
  const auto second = gradcheck(cpu_kernels(), f, some_input(1000), {.max_entries = 10});
  REQUIRE_EQ(first[0].entries.size(), 10);
  for (size_t i = 0; i < 10; ++i) CHECK_EQ(first[0].entries[i].index, second[0].entries[i].index);
}

TEST_CASE("gradcheck samples entries with a nonzero gradient first") {
  const std::vector<NamedInput> table{{"table", normal_tensor({500, 2}, DType::f64, 5, 0)}};
  const TapeFunction f = [](Tape&, const std::vector<Var>& in) {
    return embedding(in[0], Tensor::from<int32_t>({3}, {17, 400, 17}));
  };
  const auto looked_up = [&](int64_t entries) {
    const GradcheckResult result = gradcheck(cpu_kernels(), f, table, {.max_entries = entries})[0];
    CHECK(result.passed);
    CHECK_EQ(int64_t(result.entries.size()), entries);
    return std::count_if(result.entries.begin(), result.entries.end(),
                         [](const GradcheckEntry& e) { return e.index / 2 == 17 || e.index / 2 == 400; });
  };
  CHECK_EQ(looked_up(1), 1);
  CHECK_EQ(looked_up(4), 3);
  CHECK_EQ(looked_up(20), 4);
}

TEST_CASE("gradcheck always compares entries with a non-finite gradient") {
  const TapeFunction f = square_with([](int64_t i, double x) { return i == 777 ? std::nan("") : 2 * x; });
  const GradcheckResult result = gradcheck(cpu_kernels(), f, some_input(1000), {.max_entries = 4})[0];
  CHECK_FALSE(result.passed);
  CHECK_EQ(result.worst().index, 777);
}

TEST_CASE("gradcheck repeats measurements near a kink and reports retries") {
  const std::vector<NamedInput> inputs{{"x", Tensor::from<double>({1, 4}, {1, 5e-5, -1, -3e-6})}};
  const GradcheckResult result = gradcheck(
      cpu_kernels(), [](Tape&, const std::vector<Var>& in) { return relu(in[0]); }, inputs)[0];
  CHECK(result.passed);
  CHECK_EQ(result.entries.size(), 4);
  CHECK_EQ(result.retried_entries(), 2);
  for (const GradcheckEntry& entry : result.entries)
    CHECK_EQ(entry.retries, entry.index == 1 ? 1 : entry.index == 3 ? 2 : 0);
}

TEST_CASE("gradcheck of f32 gradients uses differences in f64") {
  const GradcheckResult result = check(right, DType::f32);
  CHECK(result.passed);
  CHECK_GT(result.worst().error, 1e-10);  // the rounding error of f32
  CHECK_LE(result.worst().error, 1e-6);
  CHECK_EQ(result.retried_entries(), 0);
  CHECK_FALSE(check([](int64_t, double x) { return 2.1 * x; }, DType::f32).passed);
  CHECK_FALSE(check([](int64_t i, double x) { return i == 12 ? std::nan("") : 2 * x; }, DType::f32).passed);
  CHECK_THROWS_WITH_AS(check(right, DType::bf16), "[gradcheck] gradients must be f32 or f64, got bf16", Error);
}

// With one feature, the terms of layer norm's gradients cancel to zero and leave 316 times the rounding error.
TEST_CASE("gradcheck in f32 tolerates rounding errors of terms that cancel") {
  for (const uint64_t seed : {1, 2, 3}) {
    const GradcheckOptions options{.seed = seed, .tape = kOpCaseTape};
    for (const OpCheck& check : run_gradcheck("layer_norm", cpu_kernels(), options, DType::f32)) {
      CAPTURE(check.op);
      CHECK(all_passed(check.inputs));
    }
  }
}

TEST_CASE("gradcheck respects a given tolerance") {
  CHECK_FALSE(gradcheck(cpu_kernels(), square_with(right), some_input(13), {.tolerance = 1e-30})[0].passed);
}

TEST_CASE("gradcheck reports each input separately") {
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

// The gradients of the second input are 1e-8 of those of the first.
TEST_CASE("gradcheck checks tiny gradients as strictly as large ones") {
  const auto with = [](Slope slope) {
    return [slope](Tape&, const std::vector<Var>& in) { return add(in[0], scale(square(in[1], slope), 1e-8)); };
  };
  auto inputs = some_input(4);
  inputs.push_back({"y", normal_tensor({1, 4}, DType::f64, 6, 0)});
  CHECK(all_passed(gradcheck(cpu_kernels(), with(right), inputs)));
  for (const Slope wrong :
       {Slope([](int64_t, double x) { return 2.2 * x; }), Slope([](int64_t, double) { return 0.0; })}) {
    const auto results = gradcheck(cpu_kernels(), with(wrong), inputs);
    CHECK(results[0].passed);
    CHECK_FALSE(results[1].passed);
  }
}

TEST_CASE("gradcheck rejects inputs that are not f64") {
  const std::vector<NamedInput> inputs{{"x", normal_tensor({1, 2}, DType::f32, 5, 0)}};
  const TapeFunction f = [](Tape&, const std::vector<Var>& in) { return scale(in[0], 2); };
  CHECK_THROWS_WITH_AS(gradcheck(cpu_kernels(), f, inputs), "[gradcheck] input x must be f64, got f32", Error);
}

namespace {

// A model whose loss is the squared error of w2 dropout(relu(w1 x + bias^2)) with targets 0; the op above computes the
// square of the bias.
struct SlopeModel {
  Parameters parameters;
  Slope slope;
  explicit SlopeModel(DType dtype, Slope s = right, uint64_t seed = 1) : slope(s) {
    parameters.add("w1", {6, 4}, Init::normal(1));
    parameters.add("bias", {6}, Init::normal(1));
    parameters.add("frozen", {4}, Init::normal(1)).trainable = false;
    parameters.add("w2", {1, 6}, Init::normal(1));
    parameters.allocate(seed, dtype);
  }
  Var loss(Tape& tape) {
    const auto parameter = [&](const char* name) { return tape.parameter(*parameters.find(name)); };
    const Var x = tape.constant(normal_tensor({5, 4}, parameters.values().dtype(), 7, 0));
    const Var hidden = dropout(relu(linear(x, parameter("w1"), square(parameter("bias"), slope))), 0.3);
    return squared_error(linear(hidden, parameter("w2")), Tensor::zeros({5})).loss;
  }
  ParameterFunction function() {
    return {parameters, [this](Tape& tape) { return loss(tape); }};
  }
};

std::vector<GradcheckResult> check(SlopeModel& model) {
  return gradcheck(cpu_kernels(), model.function(), model.function());
}

}  // namespace

TEST_CASE("gradcheck of a model checks every trainable parameter and restores the values") {
  SlopeModel model(DType::f64);
  const std::vector<double> before = model.parameters.values().to_vector<double>();
  const std::vector<GradcheckResult> results = check(model);
  REQUIRE_EQ(results.size(), 3);
  for (const GradcheckResult& result : results) {
    CAPTURE(result.input);
    CHECK(result.passed);
    CHECK_EQ(int64_t(result.entries.size()), model.parameters.find(result.input)->shape.elements());
  }
  CHECK_EQ(results[2].input, "w2");
  CHECK(model.parameters.values().to_vector<double>() == before);
}

TEST_CASE("gradcheck of a model names the parameter whose gradient is wrong or NaN") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (const Slope wrong : {Slope([](int64_t, double x) { return 2.1 * x; }),
                              Slope([](int64_t i, double x) { return i == 3 ? std::nan("") : 2 * x; })}) {
      SlopeModel model(dtype, wrong), exact(DType::f64);
      for (const GradcheckResult& result : gradcheck(cpu_kernels(), model.function(), exact.function())) {
        CAPTURE(result.input);
        CHECK_EQ(result.passed, result.input != "bias");
      }
    }
  }
}

TEST_CASE("gradcheck of an f32 model uses differences of the same weights in f64") {
  SlopeModel model(DType::f32), exact(DType::f64, right, 2);
  for (const GradcheckResult& result : gradcheck(cpu_kernels(), model.function(), exact.function())) {
    CAPTURE(result.input);
    CHECK(result.passed);
    CHECK_GT(result.worst().error, 0);
  }
  CHECK(same_bits(exact.parameters.values(), model.parameters.values().to(DType::f64)));
  CHECK_THROWS_WITH_AS(check(model), "[gradcheck] parameter w1 must be f64 to be perturbed, got f32", Error);
  Parameters none;
  none.allocate(1, DType::f64);
  CHECK_THROWS_WITH_AS(gradcheck(cpu_kernels(), model.function(), {none, exact.function().record}),
                       "[gradcheck] expected 4 parameters of the exact function, got 0", Error);
}

TEST_CASE("rows of the op table are selected by op, by name, or all") {
  CHECK_EQ(op_cases("rope/partial").size(), 1);
  CHECK_GT(op_cases("rope").size(), 5);
  CHECK_EQ(op_cases("all").size(), op_cases().size());
  CHECK_THROWS_AS(op_cases("rop"), UsageError);
  const std::vector<OpCheck> checks = run_gradcheck("rope/partial", cpu_kernels());
  REQUIRE_EQ(checks.size(), 1);
  CHECK(all_passed(checks[0].inputs));
  CHECK_EQ(checks[0].inputs.size(), 2);
  CHECK_EQ(checks[0].inputs[1].input, "frequencies");
}

TEST_CASE("gradcheck finds a wrong gradient of y = x / |x|, whatever numbers the caller draws") {
  struct Zero final : Op {
    std::string_view name() const override { return "unit"; }
    void backward(Backward& b) override { b.dinput(0).zero(); }
  };
  const auto unit = [](Tape& tape, const std::vector<Var>& in) {
    const Tensor y = in[0].value().clone();
    double squares = 0;
    for (const double x : y.span<double>()) squares += x * x;
    for (double& x : y.span<double>()) x /= std::sqrt(squares);
    return tape.record(std::make_unique<Zero>(), y, {in[0]});
  };
  for (const uint64_t stream : {0, 1, 2}) {  // with dy = x, the gradient would be zero
    const Tensor x = normal_tensor({1, 16}, DType::f64, GradcheckOptions().seed, stream);
    CHECK_FALSE(gradcheck(cpu_kernels(), unit, {{"x", x}})[0].passed);
  }
}
