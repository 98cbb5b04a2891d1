#include "autograd/ops.h"

namespace gyre {
namespace {

// With c, s = cos, sin(position * frequency_i) and m the magnitude, for each pair (x1, x2) of features:
//   y1 = m (x1 c - x2 s)     y2 = m (x1 s + x2 c)
// Backward is the TRANSPOSE of the rotation, the same kernel with the sign of s turned (the inverse only when m = 1):
//   dx1 = m (dy1 c + dy2 s)  dx2 = m (-dy1 s + dy2 c)
// The angle's gradient needs nothing but the output: dtheta = dy2 y1 - dy1 y2, so dfrequency_i = sum of position *
// dtheta.
struct Rope final : Op {
  Tensor positions;
  Rotary rotary;
  std::string_view name() const override { return "rope"; }
  void backward(Backward& b) override {
    if (const Tensor dx = b.dinput(0)) b.kernels().rope(dx, b.doutput(), positions, b.input(1), rotary, true);
    if (const Tensor df = b.dparameter(1)) {
      b.kernels().rope_frequencies_backward(df, b.doutput(), b.output(), positions, rotary);
    }
  }
};

}  // namespace

Var rope(const Var& x, const Var& frequencies, const Tensor& positions, const Rotary& rotary) {
  require(x.shape().rank() == 2 && rotary.heads > 0 && x.shape()[1] % rotary.heads == 0,
          "[rope] x must be (n, heads * width) with ", rotary.heads, " heads, got ", x.shape().text());
  require(rotary.dims % 2 == 0, "[rope] rotary dims must be even, got ", rotary.dims);
  require(rotary.dims > 0 && rotary.dims <= x.shape()[1] / rotary.heads,
          "[rope] rotary dims must be between 2 and the head width ", x.shape()[1] / rotary.heads, ", got ",
          rotary.dims);
  require(frequencies.shape() == Shape{rotary.dims / 2}, "[rope] expected ", rotary.dims / 2, " frequencies, got ",
          frequencies.shape().text());
  require(positions.size() == x.shape()[0], "[rope] expected ", x.shape()[0], " positions, got ", positions.size());
  auto op = std::make_unique<Rope>();
  op->positions = positions;
  op->rotary = rotary;
  const Tensor y = x.value().like();
  x.kernels().rope(y, x.value(), positions, frequencies.value(), rotary, false);
  return x.tape().record(std::move(op), y, {x, frequencies});
}

}  // namespace gyre
