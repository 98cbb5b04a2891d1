#include "gyre/train/optim/optimizer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/train/optim/schedule.h"
#include "tests/train/optim/packed_part.h"
#include "tests/train/optim/waves.h"

using namespace gyre;
using test::fill;
using test::set_gradients;

namespace {

// Two matrices and a vector in f32, with an optimizer.
struct Small {
  explicit Small(const OptimizerOptions& options) : optimizer((build(), parameters), cpu_kernels(), options) {}
  void build() {
    parameters.add("a", {3, 5}, Init::normal(1));
    parameters.add("b", {5}, Init::constant(1), false);
    parameters.add("c", {2, 2}, Init::normal(1));
    parameters.allocate(7);
  }
  void step(int n) {
    set_gradients(parameters, n);
    optimizer.update(3);
  }
  Parameters parameters;
  Optimizer optimizer;
};

OptimizerOptions plain() {
  OptimizerOptions o;
  o.schedule.kind = "constant";
  o.schedule.learning_rate = 0.01;
  o.schedule.warmup = 0;
  return o;
}

}  // namespace

TEST_CASE("update: a gradient with an infinite square is skipped, unless clipping makes it small") {
  for (const double clip : {0.0, 1.0}) {
    CAPTURE(clip);
    OptimizerOptions o = plain();
    o.clip_norm = clip;
    Small s(o);
    s.step(0);
    const auto values = s.parameters.values().to_vector<float>();
    set_gradients(s.parameters, 1);
    s.parameters[0].gradient.data<float>()[1] = 1e21F;
    CHECK(s.optimizer.update(3).accepted == (clip > 0));
    CHECK((s.parameters.values().to_vector<float>() == values) == (clip == 0));
    for (const auto& m : s.optimizer.state()) {
      for (const float x : m.read().to_vector<float>()) CHECK(std::isfinite(x));
    }
  }
}

TEST_CASE("update: sets all gradients to zero") {
  const auto all_zero = [](const Tensor& t) {
    const auto x = t.span<float>();
    return std::all_of(x.begin(), x.end(), [](float g) { return g == 0; });
  };
  Small s(plain());
  s.step(0);
  CHECK(all_zero(s.parameters.gradients()));
  set_gradients(s.parameters, 1);
  s.parameters[0].gradient.data<float>()[1] = std::numeric_limits<float>::quiet_NaN();
  CHECK(!s.optimizer.update(3).accepted);
  CHECK(all_zero(s.parameters.gradients()));
  s.parameters[1].trainable = false;
  Optimizer frozen(s.parameters, cpu_kernels(), plain());
  set_gradients(s.parameters, 2);
  frozen.update(3);
  CHECK(all_zero(s.parameters.gradients()));
}

TEST_CASE("update: the normalizer divides, clipping limits") {
  Small s(plain());
  set_gradients(s.parameters, 0);
  double squares = 0;
  for (const float g : s.parameters.gradients().span<float>()) squares += double(g) * g;
  CHECK(s.optimizer.update(4).gradient_norm == doctest::Approx(std::sqrt(squares) / 4));
  CHECK_THROWS_AS(s.optimizer.update(0), Error);
  CHECK_THROWS_AS(s.optimizer.update(std::numeric_limits<double>::quiet_NaN()), Error);
}

TEST_CASE("update: the learning rate is that of the schedule at the number of finished updates") {
  OptimizerOptions o = plain();
  o.schedule.kind = "inverse-sqrt";
  o.schedule.warmup = 2;
  Small s(o);
  for (uint64_t n = 0; n < 5; ++n) {
    set_gradients(s.parameters, 0);
    CHECK(s.optimizer.update(1).learning_rate == learning_rate(o.schedule, n));
  }
}

TEST_CASE("update: packed gradients change the elements of a rank as an arena of gradients does") {
  for (const char* kind : {"adamw", "lion", "normuon"}) {
    CAPTURE(kind);
    OptimizerOptions o = plain();
    o.kind = kind;
    o.weight_decay = 0.1;
    o.clip_norm = 0;
    Parameters whole, part;
    for (Parameters* parameters : {&whole, &part}) {
      parameters->add("other", {70, 50}, Init::normal(1)).matrix_rows = {30, 40};
      parameters->add("matrix", {6, 35}, Init::normal(1)).matrix_rows = {2, 4};
      parameters->add("bias", {50}, Init::normal(1), false);
      parameters->allocate(7);
    }
    part.free_gradients();
    const test::PackedPart packed(part, part[1].offset);
    Optimizer of_whole(whole, cpu_kernels(), o), of_part(part, cpu_kernels(), o, &packed);
    for (int step = 0; step < 2; ++step) {
      for (const size_t i : {size_t{1}, size_t{2}}) {
        const auto wave = [&](int64_t at) { return std::sin(double(at) + double(i) + step); };
        fill(whole[i].gradient, wave);
        fill(packed.gradient(part[i]), wave);
      }
      CHECK(of_part.update(3).gradient_norm == doctest::Approx(of_whole.update(3).gradient_norm));
      for (const float g : packed.packed_gradients().span<float>()) CHECK(g == 0);
    }
    for (const size_t i : {size_t{1}, size_t{2}}) {
      CHECK(part[i].value.to_vector<float>() == whole[i].value.to_vector<float>());
    }
  }
}

TEST_CASE("frozen parameters never change, not even by weight decay") {
  OptimizerOptions o = plain();
  o.kind = "adamw";
  o.weight_decay = 0.5;
  Parameters parameters;
  for (const char* name : {"a", "b", "c", "d"}) parameters.add(name, {20}, Init::constant(1));
  parameters.allocate(1);
  parameters[1].trainable = false;
  Optimizer optimizer(parameters, cpu_kernels(), o);
  for (size_t i : {size_t{0}, size_t{2}, size_t{3}}) fill(parameters[i].gradient, [](int64_t) { return 1.0; });
  optimizer.update(1);
  for (Parameter& p : parameters) CHECK((p.value.to_vector<float>() == std::vector<float>(20, 1.0F)) == !p.trainable);
}

TEST_CASE("gaps between parameters remain zero") {
  OptimizerOptions o = plain();
  o.kind = "adamw";
  o.weight_decay = 0.1;
  Small s(o);
  for (int n = 0; n < 3; ++n) s.step(n);
  const float* values = s.parameters.values().data<float>();
  CHECK(s.parameters[1].offset > 15);
  for (int64_t i = 15; i < s.parameters[1].offset; ++i) CHECK(values[i] == 0);
}

TEST_CASE("moving average: follows the weights with a decay that starts small") {
  OptimizerOptions o = plain();
  o.ema = 0.95;
  Small s(o);
  std::vector<double> expected;
  for (const float x : s.parameters[0].value.span<float>()) expected.push_back(x);
  for (int n = 0; n < 30; ++n) {
    s.step(n);
    const double decay = std::min(0.95, (1.0 + n) / (10.0 + n));
    for (size_t i = 0; i < expected.size(); ++i) {
      expected[i] += (1 - decay) * (double(s.parameters[0].value.data<float>()[i]) - expected[i]);
    }
  }
  const Tensor average = s.optimizer.average(s.parameters[0]).read();
  for (size_t i = 0; i < expected.size(); ++i)
    CHECK(average.data<float>()[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

TEST_CASE("average scope: the parameters hold the average during its lifetime, and the same bits as before afterward") {
  OptimizerOptions o = plain();
  o.ema = 0.9;
  Small s(o);
  s.step(0);
  const auto weights = s.parameters.values().to_vector<float>();
  const auto average = s.optimizer.average(s.parameters[2]).read().to_vector<float>();
  {
    const AverageScope scope(s.optimizer);
    CHECK(s.parameters[2].value.to_vector<float>() == average);
    CHECK(s.parameters.values().to_vector<float>() != weights);
  }
  CHECK(s.parameters.values().to_vector<float>() == weights);
  CHECK(s.optimizer.average(s.parameters[2]).read().to_vector<float>() == average);

  Small none(plain());
  const auto before = none.parameters.values().to_vector<float>();
  const AverageScope scope(none.optimizer);
  CHECK(none.parameters.values().to_vector<float>() == before);
}

TEST_CASE("reset: the average restarts from the weights") {
  OptimizerOptions o = plain();
  o.ema = 0.9;
  Small s(o);
  fill(s.parameters[0].value, [](int64_t i) { return double(i); });
  s.optimizer.reset_average();
  CHECK(s.optimizer.average(s.parameters[0]).read().to_vector<float>() == s.parameters[0].value.to_vector<float>());
}
