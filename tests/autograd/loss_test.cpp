// Tests the sums of losses, from which metrics and the global token count are computed.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/autograd/ops.h"
#include "tests/autograd/op_run.h"

using namespace gyre;

namespace {

constexpr int64_t kPredictions = 2100, kClasses = 9, kFeatures = 4;  // several chunks of linear_cross_entropy

Tensor some_targets() {
  std::vector<int32_t> targets;
  for (int64_t i = 0; i < kPredictions; ++i) targets.push_back(i % 5 == 3 ? -1 : int32_t(i * i % kClasses));
  return Tensor::from<int32_t>({kPredictions}, targets);
}

CrossEntropySums direct_sums(const Tensor& logits, const Tensor& targets, double smoothing) {
  CrossEntropySums sums;
  for (int64_t i = 0; i < logits.rows(); ++i) {
    const int32_t target = targets.data<int32_t>()[i];
    if (target < 0) continue;
    const double* x = logits.data<double>() + i * kClasses;
    double normalizer = 0, mean = 0;
    for (int64_t j = 0; j < kClasses; ++j) {
      normalizer += std::exp(x[j]);
      mean += x[j] / kClasses;
    }
    const double nll = std::log(normalizer) - x[target];
    sums.nll += nll;
    sums.loss += (1 - smoothing) * nll + smoothing * (std::log(normalizer) - mean);
    sums.tokens += 1;
    sums.correct += std::max_element(x, x + kClasses) == x + target;
  }
  return sums;
}

void check_sums(const CrossEntropySums& actual, const CrossEntropySums& expected, double epsilon) {
  CHECK_EQ(actual.loss, doctest::Approx(expected.loss).epsilon(epsilon));
  CHECK_EQ(actual.nll, doctest::Approx(expected.nll).epsilon(epsilon));
  CHECK_EQ(actual.tokens, expected.tokens);
  CHECK_EQ(actual.correct, expected.correct);
}

// The rows of two passes, from those of each.
Tensor both(const Tensor& first, const Tensor& second) {
  std::vector<double> rows = first.to_vector<double>();
  for (const double x : second.to_vector<double>()) rows.push_back(x);
  return Tensor::from<double>({2 * first.rows(), first.cols()}, rows);
}

}  // namespace

TEST_CASE("a loss-seeded tape computes the same table gradient, before backward") {
  const Tensor x = normal_tensor({kPredictions, kFeatures}, DType::f64, 31, 0), targets = some_targets();
  Parameters parameters;
  Parameter& w = parameters.add("w", {kClasses, kFeatures}, Init::normal(1));
  parameters.allocate(1, DType::f64);
  const auto record = [&](Tape& tape) {
    parameters.gradients().zero();
    return linear_cross_entropy(tape.leaf(x), tape.parameter(w), {}, targets, {0.1}).loss;
  };
  Tape plain(cpu_kernels(), {}), promised(cpu_kernels(), {.loss_seeded = true});
  plain.backward(record(plain));
  const Tensor expected = w.gradient.clone();
  const Var loss = record(promised);
  CHECK_LE(relative_error(w.gradient, expected), 1e-13);
  promised.backward(loss);
  CHECK_LE(relative_error(w.gradient, expected), 1e-13);

  Tape broken(cpu_kernels(), {.loss_seeded = true});
  const Var other = record(broken);
  CHECK_THROWS_WITH_AS(broken.backward(other, Tensor::from<double>({1}, std::vector<double>{2})),
                       "[linear_cross_entropy] expected a cotangent of 1 on a loss-seeded tape, got 2", Error);
}

TEST_CASE("cross-entropy's sums: loss, nll, tokens, correct") {
  const Tensor x = normal_tensor({kPredictions, kFeatures}, DType::f64, 31, 0);
  const Tensor w = normal_tensor({kClasses, kFeatures}, DType::f64, 31, 1), targets = some_targets();
  for (Kernels* kernels : available_cpu_kernels()) {
    for (double smoothing : {0.0, 0.1}) {
      Tape tape(*kernels, {});
      const Var vx = tape.leaf(x), vw = tape.leaf(w), logits = linear(vx, vw);
      const CrossEntropySums expected = direct_sums(logits.value(), targets, smoothing);
      CHECK_GT(expected.correct, 0);
      const LossResult plain = cross_entropy(logits, targets, {smoothing});
      check_sums(plain.sums(), expected, 1e-12);
      CHECK_EQ(*plain.loss.value().data<double>(), plain.sums().loss);
      const LossResult fused = linear_cross_entropy(vx, vw, {}, targets, {smoothing});
      check_sums(fused.sums(), expected, 1e-12);
      CHECK_EQ(*fused.loss.value().data<double>(), fused.sums().loss);
      const LossResult narrow =
          linear_cross_entropy(tape.leaf(x.to(DType::f32)), tape.leaf(w.to(DType::f32)), {}, targets, {smoothing});
      check_sums(narrow.sums(), expected, 1e-5);
    }
  }
}

TEST_CASE("cross-entropy gives the same sums when nothing is recorded") {
  const Tensor x = normal_tensor({kPredictions, kFeatures}, DType::f32, 31, 0);
  const Tensor w = normal_tensor({kClasses, kFeatures}, DType::f32, 31, 1), targets = some_targets();
  Tape training(cpu_kernels(), {}), evaluating(cpu_kernels(), {.record = false});
  const auto sums_on = [&](Tape& tape) {
    return linear_cross_entropy(tape.leaf(x), tape.leaf(w), {}, targets, {0.1}).sums();
  };
  CHECK_EQ(sums_on(evaluating).loss, sums_on(training).loss);
}

TEST_CASE("R-Drop's sums: nll is the mean of both passes, correct that of the first, and loss has the divergences") {
  const Tensor first = normal_tensor({kPredictions, kFeatures}, DType::f64, 31, 0);
  const Tensor second = normal_tensor({kPredictions, kFeatures}, DType::f64, 31, 2);
  const Tensor w = normal_tensor({kClasses, kFeatures}, DType::f64, 31, 1), targets = some_targets();
  Tape tape(cpu_kernels(), {}), evaluating(cpu_kernels(), {.record = false});
  const auto sums_of = [&](Tape& on, double alpha) {
    return linear_r_drop(on.leaf(both(first, second)), on.leaf(w), {}, targets, 0.1, alpha).sums();
  };
  const auto plain = [&](const Tensor& x) {
    return direct_sums(linear(tape.leaf(x), tape.leaf(w)).value(), targets, 0.1);
  };
  const CrossEntropySums a = plain(first), b = plain(second), without = sums_of(tape, 0);
  check_sums(without, {(a.loss + b.loss) / 2, (a.nll + b.nll) / 2, a.tokens, a.correct}, 1e-12);
  const double divergences = 4 * (sums_of(tape, 1).loss - without.loss);
  CHECK_GT(divergences, 0.1 * double(a.tokens));
  CHECK_EQ(sums_of(tape, 5).loss, doctest::Approx(without.loss + 5.0 / 4 * divergences).epsilon(1e-12));
  CHECK_EQ(sums_of(tape, 5).nll, without.nll);
  CHECK_EQ(sums_of(evaluating, 5).loss, sums_of(tape, 5).loss);
}

TEST_CASE("squared error's sums: nll equals loss, tokens are the rows, correct is 0") {
  const Tensor x = Tensor::from<float>({3, 1}, std::vector<float>{1, -2, 0.5f});
  const Tensor targets = Tensor::from<float>({3}, std::vector<float>{3, -2, 0});
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      Tape tape(*kernels, {});
      const LossResult result = squared_error(tape.leaf(x.to(dtype)), targets);
      check_sums(result.sums(), {.loss = 4.25, .nll = 4.25, .tokens = 3, .correct = 0}, 1e-15);
      CHECK_EQ(*result.loss.value().to(DType::f64).data<double>(), 4.25);
    }
  }
}

TEST_CASE("composed losses have the sums of the fused ones") {
  const Tensor x = normal_tensor({kPredictions, kFeatures}, DType::f64, 31, 0);
  const Tensor other = normal_tensor({kPredictions, kFeatures}, DType::f64, 31, 2);
  const Tensor w = normal_tensor({kClasses, kFeatures}, DType::f64, 31, 1), targets = some_targets();
  const Tensor scores = normal_tensor({kPredictions, 1}, DType::f64, 31, 3);
  const Tensor wanted = normal_tensor({kPredictions}, DType::f32, 31, 4);
  for (const DType dtype : {DType::f64, DType::f32}) {
    const auto losses_on = [&](Tape& tape) {
      const Var table = tape.leaf(w.to(dtype)), rows = tape.leaf(x.to(dtype)), numbers = tape.leaf(scores.to(dtype));
      return std::vector<LossResult>{cross_entropy(linear(rows, table), targets, {0.1, 0.01}),
                                     linear_cross_entropy(rows, table, {}, targets, {0.1}),
                                     linear_r_drop(tape.leaf(both(x, other).to(dtype)), table, {}, targets, 0.1, 2),
                                     squared_error(numbers, wanted), margin_loss(numbers, 0.5)};
    };
    Tape fused(cpu_kernels(), {}), composed(cpu_kernels(), {.composed = true});
    const std::vector<LossResult> expected = losses_on(fused), actual = losses_on(composed);
    for (size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      check_sums(actual[i].sums(), expected[i].sums(), dtype == DType::f64 ? 1e-12 : 1e-5);
      CHECK_EQ(actual[i].predictions, expected[i].predictions);
      CHECK_EQ(*actual[i].loss.value().data<double>(), actual[i].sums().loss);
      Tape tape(cpu_kernels(), {.composed = true});
      const Var loss = losses_on(tape)[i].loss;
      tape.backward(loss);  // the cotangent is 1, in f64
    }
  }
}

TEST_CASE("composed losses of NaN are NaN and count nothing as correct") {
  const Tensor scores = Tensor::from<float>({2, 2}, std::vector<float>{1, 0, std::nanf(""), 2});
  const Tensor classes = Tensor::from<int32_t>({2}, std::vector<int32_t>{0, 0});
  Tape tape(cpu_kernels(), {.composed = true});
  const Var logits = tape.leaf(scores), rows = tape.leaf(scores.reshape({4}));
  for (const LossResult& result : {cross_entropy(logits, classes), margin_loss(rows, 1)}) {
    CHECK(std::isnan(result.sums().loss));
    CHECK_EQ(result.sums().tokens, 2);
    CHECK_EQ(result.sums().correct, 0);
  }
}

TEST_CASE("a class whose logit is -infinity leaves the loss of the others finite") {
  for (const bool composed : {false, true}) {
    CAPTURE(composed);
    Tape tape(cpu_kernels(), {.composed = composed});
    const Var logits =
        tape.leaf(Tensor::from<float>({1, 3}, std::vector<float>{0, 0, -std::numeric_limits<float>::infinity()}));
    const Tensor target = Tensor::from<int32_t>({1}, std::vector<int32_t>{0});
    CHECK_EQ(cross_entropy(logits, target).sums().loss, doctest::Approx(std::log(2.0)));
  }
}

TEST_CASE("scores that differ by the margin have no gradient") {
  for (const bool composed : {false, true}) {
    CAPTURE(composed);
    Tape tape(cpu_kernels(), {.composed = composed});
    const Var scores = tape.leaf(Tensor::from<float>({4}, std::vector<float>{1, 0, 0, 0}));
    tape.backward(margin_loss(scores, 1).loss);
    CHECK_EQ(tape.gradient(scores).to_vector<float>(), std::vector<float>{0, 0, -1, 1});
  }
}

TEST_CASE("the loss stays finite for logits of any size") {
  const Tensor logits = Tensor::from<float>({2, 3}, std::vector<float>{1e30f, -1e30f, 0, -500, -501, -502});
  const Tensor targets = Tensor::from<int32_t>({2}, std::vector<int32_t>{0, 0});
  Tape tape(cpu_kernels(), {});
  const Var x = tape.leaf(logits);
  const LossResult result = cross_entropy(x, targets);
  CHECK_EQ(result.sums().loss, doctest::Approx(std::log1p(std::exp(-1.0) + std::exp(-2.0))).epsilon(1e-4));
  tape.backward(result.loss);
  for (float g : tape.gradient(x).span<float>()) CHECK(std::isfinite(g));
}
