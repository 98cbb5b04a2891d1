// Tests the checks of gyre inspect rope: Gyre's op passes, and each check fails for an op with the matching error.
#include "tools/inspect/rope_inspection.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace gyre;

namespace {

const std::vector<int32_t> kPositions{0, 1, 2, 5, 1000};

RopeInspection inspect(const RopeOptions& options, int64_t dim, const RopeOp& op = rope) {
  return inspect_rope(options, dim, kPositions, cpu_kernels(), op);
}

std::vector<bool> passed(const RopeInspection& found) {
  std::vector<bool> all;
  for (const RopeCheck& check : found.checks) all.push_back(check.passed());
  return all;
}

// Backward rotates in the wrong direction and computes no gradient of the frequencies.
struct WrongBackward final : Op {
  Rope rotation;
  Tensor positions;
  std::string_view name() const override { return "wrong_backward"; }
  void backward(Backward& b) override {
    if (const Tensor dx = b.dinput(0)) {
      b.kernels().rope({dx}, {b.doutput()}, positions, rotation.angles, rotation.shape, dx.cols(), false);
    }
  }
};

Var wrong_backward(const Var& x, const Rope& rotation, const Tensor& positions) {
  auto op = std::make_unique<WrongBackward>();
  op->rotation = rotation;
  op->positions = positions;
  const Tensor y = x.value().like();
  x.kernels().rope({y}, {x.value()}, positions, rotation.angles, rotation.shape, x.shape()[1], false);
  return x.tape().record(std::move(op), y, {x, rotation.frequencies});
}

Var twice(const Var& x, const Rope& rotation, const Tensor& positions) {
  return rope(rope(x, rotation, positions), rotation, positions);
}

// The angles are not linear in the position.
Var clipped(const Var& x, const Rope& rotation, const Tensor& positions) {
  const Tensor clipped = positions.clone();
  for (int32_t& p : clipped.span<int32_t>()) p = std::min(p, 2);
  return rope(x, rotation, clipped);
}

}  // namespace

TEST_CASE("inspect rope: Gyre's op passes for every kind of rotation") {
  std::vector<RopeOptions> all(6);
  all[1].pairs = RotaryPairs::half_split;
  all[2].rotary_dims = 4;
  all[3].scaling = RopeScaling::yarn;
  all[3].scaling_factor = 4;
  all[4].scaling = RopeScaling::linear;
  all[4].scaling_factor = 4;
  all[5].step = 12.5;
  for (const RopeOptions& options : all) {
    const RopeInspection found = inspect(options, 8);
    for (const RopeCheck& check : found.checks) {
      CAPTURE(check.what);
      CAPTURE(check.deviation);
      CHECK(check.passed());
    }
    CHECK(found.passed());
    CHECK(found.checks.size() == 5);
    CHECK(found.frequency_gradient.size() == found.frequencies.size());
  }
}

TEST_CASE("inspect rope: the numbers of one pair") {
  const RopeInspection found = inspect({}, 2);
  CHECK(found.frequencies == std::vector<double>{1});
  const double* r = found.matrices[1].data<double>();
  const double* back = found.transposes[1].data<double>();
  for (const auto& [got, wanted] : {std::pair{r[0], std::cos(1.0)},
                                    {r[1], -std::sin(1.0)},
                                    {r[2], std::sin(1.0)},
                                    {r[3], std::cos(1.0)},
                                    {back[1], std::sin(1.0)},
                                    {back[2], -std::sin(1.0)}})
    CHECK(got == doctest::Approx(wanted).epsilon(1e-14));
}

TEST_CASE("inspect rope: a wrong op fails only the checks of its error") {
  CHECK(passed(inspect({}, 6, wrong_backward)) == std::vector<bool>{true, false, false, true, false});
  CHECK(passed(inspect({}, 6, twice)) == std::vector<bool>{false, false, true, true, true});
  CHECK(passed(inspect({}, 6, clipped)) == std::vector<bool>{false, false, true, false, true});
  CHECK_FALSE(inspect({}, 6, clipped).passed());
}

TEST_CASE("inspect rope: NaN fails every check") {
  CHECK_FALSE(RopeCheck{"", NAN, 1}.passed());
  const RopeOp broken = [](const Var& x, const Rope& rotation, const Tensor& positions) {
    return scale(rope(x, rotation, positions), NAN);
  };
  CHECK(passed(inspect({}, 4, broken)) == std::vector<bool>(5, false));
}
