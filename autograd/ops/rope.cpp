#include <cmath>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/autograd/ops/rotation_details.h"

namespace gyre {
namespace {

// Backward of x is the transpose of the rotation: the same kernel with s negated. It is the inverse only if m = 1.
// The gradient of the angle, dtheta, needs only dy and the output y.
struct Rope final : Op {
  std::string_view formula() const override {
    return R"(
      with c, s = cos, sin(position * step * frequency_i) and m the magnitude, for each pair (x1, x2) of features:
      y1 = m (x1 c - x2 s);     y2 = m (x1 s + x2 c)
        dx1 = m (dy1 c + dy2 s);  dx2 = m (-dy1 s + dy2 c)
        dtheta = dy2 y1 - dy1 y2;  dfrequency_i += sum of position * step * dtheta
    )"_formula;
  }
  Tensor positions, angles;
  RopeShape rotary;
  std::string_view name() const override { return "rope"; }
  void describe(OpMetadata& metadata) const override {
    metadata.attribute("heads", rotary.heads);
    describe_rotation(metadata, rotary);
    metadata.save("positions", positions);
    metadata.save("angles", angles);
  }
  void backward(Backward& b) override {
    const Tensor& dy = b.doutput();
    if (const Tensor dx = b.dinput(0)) {
      b.kernels().rope({dx}, {dy}, positions, angles, rotary, dx.cols() / rotary.heads, true);
    }
    if (const Tensor df = b.dparameter(1)) {
      b.kernels().rope_frequencies_backward(df, dy, b.output(), positions, rotary);
    }
  }
};

}  // namespace

Tensor rotation_angles(const Tensor& angles, const Tensor& positions, const RopeShape& rotary) {
  const Tensor rows = angles.to_cpu().to(DType::f64);
  const int64_t pairs = rotary.dims / 2;
  Tensor result = Tensor::empty({positions.size(), pairs});
  float* next = result.data<float>();
  for (const int32_t position : positions.to_cpu().span<int32_t>()) {
    const double* row = rows.data<double>() + position * rows.cols();
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const int64_t first = rotary.pairs == RotaryPairs::interleaved ? 2 * pair : pair;
      *next++ = float(std::atan2(-row[rotary.dims + first], row[first]));
    }
  }
  return result;
}

Tensor rope_angles(const Tape& tape, int node) {
  const Node& recorded = tape.nodes().at(size_t(node));
  const auto* op = dynamic_cast<const Rope*>(recorded.op.get());
  require(op != nullptr, "[rope angles] expected a node of rope, got ", recorded.name());
  return rotation_angles(op->angles, op->positions, op->rotary);
}

RopeAngles make_rotation(const Var& frequencies, int64_t positions, const RopeShape& rotary) {
  require(rotary.dims > 0 && rotary.dims % 2 == 0, "[rope] rotary dims must be even, got ", rotary.dims);
  require(frequencies.shape() == Shape{rotary.dims / 2}, "[rope] expected ", rotary.dims / 2, " frequencies, got ",
          frequencies.shape());
  const Tensor& f = frequencies.value();
  const Tensor angles = Tensor::empty({positions, 2 * rotary.dims}, f.dtype(), f.device());
  frequencies.kernels().rotary_angles(angles, f, rotary);
  return {rotary, angles, frequencies};
}

void RopeAngles::check(int64_t heads, int64_t width, const Tensor& positions, int64_t rows) const {
  require(rotary.heads == heads, "[rope] expected a rotation of ", heads, " heads, got ", rotary.heads);
  require(rotary.dims <= width, "[rope] rotary dims must be between 2 and the head width ", width, ", got ",
          rotary.dims);
  const int64_t given = positions ? positions.size() : 0;
  require(given == rows, "[rope] expected ", rows, " positions, got ", given);
  if (rows == 0) return;
  for (int32_t p : positions.span<int32_t>()) {
    require(p >= 0 && p < angles.dim(0), "[rope] positions must be below the ", angles.dim(0),
            " that have angles, got ", p);
  }
}

Var rope(const Var& x, const RopeAngles& rotation, const Tensor& positions) {
  const int heads = rotation.rotary.heads;
  require(x.shape().rank() == 2 && heads > 0 && x.shape()[1] % heads == 0, "[rope] x must be (n, heads * width) with ",
          heads, " heads, got ", x.shape());
  rotation.check(heads, x.shape()[1] / heads, positions, x.shape()[0]);
  auto op = std::make_unique<Rope>();
  op->positions = positions;
  op->angles = rotation.angles;
  op->rotary = rotation.rotary;
  const Tensor y = x.value().like();
  x.kernels().rope({y}, {x.value()}, positions, rotation.angles, rotation.rotary, x.shape()[1] / heads, false);
  return x.tape().record(std::move(op), y, {x, rotation.frequencies});
}

}  // namespace gyre
