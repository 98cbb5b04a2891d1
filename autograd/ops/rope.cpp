#include <cmath>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/composed.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {

// Every head of every row is a row of its own here: its position belongs to the row of x.
Var composed_rope(const Var& x, const Rope& rotation, const Tensor& positions) {
  const RopeShape& rotary = rotation.shape;
  const int64_t rows = x.shape()[0] * rotary.heads, width = x.shape()[1] / rotary.heads, half = rotary.dims / 2;
  const bool interleaved = rotary.interleaved();
  // The first (0) or the second (1) feature of each pair: (rows, half) from (rows, dims).
  const auto of_pairs = [&](const Var& features, int which) {
    if (!interleaved) return slice(features, 1, which * half, half);
    return reshape(slice(reshape(features, {rows * half, 2}), 1, which, 1), {rows, half});
  };

  std::vector<int32_t> places;
  for (const int32_t position : positions.to_cpu().span<int32_t>())
    places.insert(places.end(), size_t(rotary.heads), position);
  Var c, s;  // m cos and m sin of the angles, (rows, half)
  if (rotation.frequencies) {
    std::vector<double> steps;
    for (const int32_t place : places) steps.push_back(place * rotary.position_scale);
    const Var angles = constant_beside(x, {rows, 1}, steps) * rotation.frequencies;
    c = rotary.magnitude * cos(angles);
    s = rotary.magnitude * sin(angles);
  } else {  // without a gradient, the factors are those that the kernels read (Kernels::rotary_angles)
    const Var factors = gather_rows(x.tape().constant(rotation.angles), Tensor::from({rows}, places));
    c = of_pairs(slice(factors, 1, 0, rotary.dims), 0);
    s = of_pairs(slice(factors, 1, rotary.dims, rotary.dims), 1);
  }

  const Var heads = reshape(x, {rows, width}), turned = slice(heads, 1, 0, rotary.dims);
  const Var x1 = of_pairs(turned, 0), x2 = of_pairs(turned, 1);
  const Var y1 = x1 * c - x2 * s, y2 = x1 * s + x2 * c;
  const auto column = [&](const Var& v) { return reshape(v, {rows * half, 1}); };
  const Var y = interleaved ? reshape(concat({column(y1), column(y2)}, 1), turned.shape()) : concat({y1, y2}, 1);
  if (rotary.dims == width) return reshape(y, x.shape());
  return reshape(concat({y, slice(heads, 1, rotary.dims, width - rotary.dims)}, 1), x.shape());
}

namespace {

// Backward of x is the transpose of the rotation: the same kernel with s negated. It is the inverse only if m = 1.
// The gradient of the angle, dtheta, needs only dy and the output y.
struct RopeOp final : Op {
  std::string_view formula() const override {
    return R"(
      with c, s = cos, sin(position * step * frequency_i) and m the magnitude, for each pair (x1, x2) of features:
      y1 = m (x1 c - x2 s);     y2 = m (x1 s + x2 c)
        dx1 = m (dy1 c + dy2 s);  dx2 = m (-dy1 s + dy2 c)
        dtheta = dy2 y1 - dy1 y2;  dfrequency_i += sum of position * step * dtheta
    )"_formula;
  }
  Tensor positions, angles;
  RopeShape shape;
  std::string_view name() const override { return "rope"; }
  void describe(OpMetadata& metadata) const override {
    metadata.attribute("heads", shape.heads);
    describe_rotation(metadata, shape);
    metadata.save("positions", positions);
    metadata.save("angles", angles);
  }
  void backward(Backward& b) override {
    const Tensor& dy = b.doutput();
    if (const Tensor dx = b.dinput(0)) {
      b.kernels().rope({dx}, {dy}, positions, angles, shape, dx.cols() / shape.heads, true);
    }
    if (const Tensor df = b.dparameter(1)) {
      b.kernels().rope_frequencies_backward(df, dy, b.output(), positions, shape);
    }
  }
};

}  // namespace

void describe_rotation(OpMetadata& metadata, const RopeShape& shape) {
  metadata.attribute("rotary", shape.dims);
  if (shape.pairs == RotaryPairs::half_split) metadata.attribute("pairs", "half-split");
  if (shape.magnitude != 1) metadata.attribute("magnitude", shape.magnitude);
  if (shape.position_scale != 1) metadata.attribute("step", shape.position_scale);
}

Tensor rope_angles(const Tensor& angles, const Tensor& positions, const RopeShape& shape) {
  const Tensor rows = angles.to_cpu().to(DType::f64);
  const int64_t pairs = shape.dims / 2;
  Tensor result = Tensor::empty({positions.size(), pairs});
  float* next = result.data<float>();
  for (const int32_t position : positions.to_cpu().span<int32_t>()) {
    const double* row = rows.data<double>() + position * rows.cols();
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const int64_t first = shape.first_of_pair(pair);
      *next++ = float(std::atan2(-row[shape.dims + first], row[first]));
    }
  }
  return result;
}

Tensor rope_angles(const Tape& tape, int node) {
  const Node& recorded = tape.nodes().at(size_t(node));
  const auto* op = dynamic_cast<const RopeOp*>(recorded.op.get());
  require(op != nullptr, "[rope angles] expected a node of rope, got ", recorded.name());
  return rope_angles(op->angles, op->positions, op->shape);
}

Rope make_rope(const Var& frequencies, int64_t positions, const RopeShape& shape) {
  require(shape.dims > 0 && shape.dims % 2 == 0, "[rope] rotary dims must be even, got ", shape.dims);
  require(frequencies.shape() == Shape{shape.dims / 2}, "[rope] expected ", shape.dims / 2, " frequencies, got ",
          frequencies.shape());
  const Tensor& f = frequencies.value();
  const Tensor angles = Tensor::empty({positions, 2 * shape.dims}, f.dtype(), f.device());
  frequencies.kernels().rotary_angles(angles, f, shape);
  return {shape, angles, frequencies};
}

void Rope::check(int64_t heads, int64_t width, const Tensor& positions, int64_t rows) const {
  require(shape.heads == heads, "[rope] expected a rotation of ", heads, " heads, got ", shape.heads);
  require(shape.dims <= width, "[rope] rotary dims must be between 2 and the head width ", width, ", got ", shape.dims);
  const int64_t given = positions ? positions.size() : 0;
  require(given == rows, "[rope] expected ", rows, " positions, got ", given);
  if (rows == 0) return;
  for (int32_t p : positions.span<int32_t>()) {
    require(p >= 0 && p < angles.dim(0), "[rope] positions must be below the ", angles.dim(0),
            " that have angles, got ", p);
  }
}

Var rope(const Var& x, const Rope& rotation, const Tensor& positions) {
  const int heads = rotation.shape.heads;
  require(x.shape().rank() == 2 && heads > 0 && x.shape()[1] % heads == 0, "[rope] x must be (n, heads * width) with ",
          heads, " heads, got ", x.shape());
  rotation.check(heads, x.shape()[1] / heads, positions, x.shape()[0]);
  if (!x.tape().fused(&Kernels::rope_op))
    return stored(composed_rope(widened(x), rotation, positions), x.value().dtype());
  auto op = std::make_unique<RopeOp>();
  op->positions = positions;
  op->angles = rotation.angles;
  op->shape = rotation.shape;
  const Tensor y = x.value().like();
  x.kernels().rope({y}, {x.value()}, positions, rotation.angles, rotation.shape, x.shape()[1] / heads, false);
  return x.tape().record(std::move(op), y, {x, rotation.frequencies});
}

}  // namespace gyre
