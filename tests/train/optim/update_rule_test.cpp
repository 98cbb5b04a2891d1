// Compares update rules with independent implementations (golden/make_optimizers.py), and checks their state.
#include "gyre/train/optim/update_rule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/train/optim/optimizer.h"
#include "tests/emulated_bf16.h"
#include "tests/source_dir.h"
#include "tests/threads_in_scope.h"
#include "tests/train/optim/waves.h"

namespace gyre::test {
namespace {

const Json& golden() {
  static const auto values = Json::parse(read_file(source_dir() / "tests/train/golden/optimizers.json"));
  return values;
}

struct GoldenModel {
  explicit GoldenModel(DType dtype) {
    const Json& g = golden();
    for (const auto& [name, dims] : g["shapes"].items()) {
      const bool decay = std::find(g["no_decay"].begin(), g["no_decay"].end(), name) == g["no_decay"].end();
      const auto shape = dims.get<std::vector<int64_t>>();
      Parameter& p = parameters.add(name, Shape(std::span<const int64_t>(shape)), Init::constant(0), decay);
      if (g["matrices"].contains(name)) p.matrix_rows = g["matrices"][name].get<std::vector<int64_t>>();
    }
    parameters.allocate(1, dtype);
    set_values(parameters);
  }
  Parameters parameters;
};

OptimizerOptions golden_options(const std::string& kind) {
  const Json& g = golden();
  OptimizerOptions o;
  o.kind = kind;
  if (kind == "lion") o.beta1 = g["lion_betas"][0], o.beta2 = g["lion_betas"][1];
  o.schedule.learning_rate = g["learning_rate"];
  o.schedule.warmup = g["warmup"];
  o.schedule.warmup_initial = g["warmup_initial"];
  o.clip_norm = g["clip"];
  o.weight_decay = kind == "adam" ? 0.0 : g["weight_decay"].get<double>();
  return o;
}

double largest_error(const Parameter& p, const Json& expected) {
  double worst = 0;
  for (int64_t i = 0; i < p.value.size(); ++i)
    worst = std::max(worst, std::abs(at(p.value, i) - expected[static_cast<size_t>(i)].get<double>()));
  return worst;
}

void check_against_golden(Kernels& kernels, const std::string& kind, DType dtype, double tolerance) {
  const Json &g = golden(), &expected = g[kind];
  GoldenModel model(dtype);
  Optimizer optimizer(model.parameters, kernels, golden_options(kind));
  for (int step = 0; step < g["steps"]; ++step) {
    set_gradients(model.parameters, step);
    const UpdateInfo info = optimizer.update(g["normalizer"]);
    CHECK(info.accepted);
    CHECK(std::abs(info.gradient_norm - expected["norms"][static_cast<size_t>(step)].get<double>()) <= tolerance);
  }
  CHECK(optimizer.step() == g["steps"]);
  for (const Parameter& p : model.parameters) {
    const double error = largest_error(p, expected["weights"][p.name]);
    INFO(kernels.name(), " ", kind, " ", p.name, ": ", error);
    CHECK(error <= tolerance);
  }
}

}  // namespace

TEST_CASE("update rules: the values of PyTorch and of the papers, with clipping, schedule and normalizer") {
  for (const std::string& kind : update_rule_names()) {
    for (Kernels* kernels : available_cpu_kernels()) {
      check_against_golden(*kernels, kind, DType::f64, 1e-11);
      check_against_golden(*kernels, kind, DType::f32, 1e-5);
    }
  }
}

TEST_CASE("update rules: a rejected update changes neither weights nor averages nor state, and zeroes the gradients") {
  for (const std::string& kind : update_rule_names()) {
    CAPTURE(kind);
    GoldenModel model(DType::f32);
    OptimizerOptions options = golden_options(kind);
    options.ema = 0.9;
    Optimizer optimizer(model.parameters, cpu_kernels(), options);
    set_gradients(model.parameters, 0);
    optimizer.update(3);
    const auto values = model.parameters.values().to_vector<float>();
    const auto average = optimizer.average(model.parameters[4]).read().to_vector<float>();
    std::vector<std::vector<float>> state;
    for (const StateTensor& t : optimizer.state()) state.push_back(t.read().to_vector<float>());
    for (const float x : state.back()) CHECK(x != 0);
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      set_gradients(model.parameters, 1);
      model.parameters[4].gradient.data<float>()[2] = bad;
      CHECK(!optimizer.update(3).accepted);
      CHECK(optimizer.step() == 1);
      CHECK(model.parameters.values().to_vector<float>() == values);
      CHECK(optimizer.average(model.parameters[4]).read().to_vector<float>() == average);
      for (const float g : model.parameters.gradients().span<float>()) CHECK(g == 0);
      const auto now = optimizer.state();
      for (size_t i = 0; i < now.size(); ++i) CHECK(now[i].read().to_vector<float>() == state[i]);
    }
  }
}

TEST_CASE("update rules: state that is written into a new optimizer continues with the same bits") {
  for (const std::string& kind : update_rule_names()) {
    CAPTURE(kind);
    GoldenModel model(DType::f32), copy(DType::f32);
    Optimizer first(model.parameters, cpu_kernels(), golden_options(kind));
    for (int step = 0; step < 2; ++step) set_gradients(model.parameters, step), first.update(3);
    Optimizer second(copy.parameters, cpu_kernels(), golden_options(kind));
    copy.parameters.values().copy_from(model.parameters.values());
    const auto from = first.state(), to = second.state();
    REQUIRE(from.size() == to.size());
    for (size_t i = 0; i < from.size(); ++i) {
      CHECK(from[i].name == to[i].name);
      to[i].write(from[i].read());
    }
    second.set_steps(first.step(), first.moments_step());
    for (auto* pair : {&model, &copy}) set_gradients(pair->parameters, 2);
    first.update(3);
    second.update(3);
    CHECK(model.parameters.values().to_vector<float>() == copy.parameters.values().to_vector<float>());
  }
}

TEST_CASE("Muon: keeps momentum for matrices only, and moments for all other parameters") {
  GoldenModel model(DType::f32);
  model.parameters[4].trainable = false;  // not updated, so not kept as a matrix
  const Optimizer optimizer(model.parameters, cpu_kernels(), golden_options("normuon"));
  std::vector<std::string> names;
  for (const StateTensor& t : optimizer.state()) names.push_back(t.name + to_string(t.shape));
  CHECK(names == std::vector<std::string>{"m.norm(5)", "m.b(4)", "m.v(2, 3)", "m.tall(7, 3)", "v.norm(5)", "v.b(4)",
                                          "v.v(2, 3)", "v.tall(7, 3)", "momentum.w(3, 4)", "row_moments.w(3)"});
}

TEST_CASE("Muon: multiplies in the precision of the options") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  const auto trained = [](Precision precision) {
    Parameters parameters;
    parameters.add("w", {24, 40}, Init::constant(0)).matrix_rows = {24};
    parameters.allocate(1);
    OptimizerOptions options = golden_options("muon");
    options.precision = precision;
    Optimizer optimizer(parameters, cpu_kernels(), options);
    fill(parameters[0].gradient, [](int64_t i) { return std::sin(double(i) * double(i) + 1); });
    optimizer.update(1);
    return parameters[0].value.to_vector<float>();
  };
  const auto exact = trained(Precision::fp32), rounded = trained(Precision::bf16);
  double squares = 0, all = 0;
  for (size_t i = 0; i < exact.size(); ++i) squares += std::pow(exact[i] - rounded[i], 2), all += std::pow(exact[i], 2);
  CHECK(squares > 1e-6 * all);
  CHECK(squares < 4e-3 * all);
}

TEST_CASE("Muon: small and large matrices have the same bits for any number of threads") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  const auto trained = [](const std::string& kind, Precision precision, int threads) {
    const ThreadsInScope scope(threads);
    Parameters parameters;
    for (const int64_t rows : {40, 7, 64, 1, 33, 16}) {
      const int64_t columns = rows == 16 ? 20'000 : 48;  // the last matrix is not small
      parameters.add(std::to_string(rows), {rows, columns}, Init::constant(0)).matrix_rows = {rows};
    }
    parameters.allocate(1);
    OptimizerOptions options = golden_options(kind);
    options.precision = precision;
    Optimizer optimizer(parameters, cpu_kernels(), options);
    for (int step = 0; step < 2; ++step) set_gradients(parameters, step), optimizer.update(1);
    std::vector<std::vector<float>> results{parameters.values().to_vector<float>()};
    for (const StateTensor& t : optimizer.state()) results.push_back(t.read().to_vector<float>());
    return results;
  };
  for (const std::string kind : {"muon", "normuon"}) {
    CHECK(trained(kind, Precision::fp32, 1) == trained(kind, Precision::fp32, 3));
  }
  CHECK(trained("muon", Precision::bf16, 1) == trained("muon", Precision::bf16, 3));
}

TEST_CASE("Muon: rates and decays of groups apply to matrices") {
  const auto trained = [](const std::vector<PatternValue>& rates, double decay) {
    GoldenModel model(DType::f64);
    OptimizerOptions options = golden_options("muon");
    options.weight_decay = decay;
    options.rate_factors = rates;
    Optimizer optimizer(model.parameters, cpu_kernels(), options);
    const auto before = model.parameters[0].value.to_vector<double>();
    set_gradients(model.parameters, 0);
    optimizer.update(1);
    auto change = model.parameters[0].value.to_vector<double>();
    for (size_t i = 0; i < change.size(); ++i) change[i] -= before[i];
    return change;
  };
  const auto full = trained({}, 0.1), half = trained({{"w", 0.5}}, 0.1), none = trained({{"?", 0}}, 0.1);
  for (size_t i = 0; i < full.size(); ++i) {
    CHECK(half[i] == doctest::Approx(full[i] / 2));
    CHECK(none[i] == 0);
  }
}

}  // namespace gyre::test
