#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

struct SegmentMean final : Op {
  std::string_view formula() const override {
    return R"(
      y_s = sum of x_i over the rows i of segment s / rows of s
        dx_i = dy_s / rows of s
    )"_formula;
  }
  Segments segments;
  std::string_view name() const override { return "segment_mean"; }
  void describe(OpMetadata& metadata) const override { metadata.attribute("segments", segments.count()); }
  void backward(Backward& b) override { b.kernels().segment_mean_backward(b.dinput(0), b.doutput(), segments); }
};

}  // namespace

Var segment_mean(const Var& x, const Segments& segments) {
  require(x.shape().rank() == 2 && x.shape()[0] == segments.tokens(), "[segment_mean] expected x(n,d) of ",
          segments.tokens(), " rows, got ", x.shape());
  for (int s = 0; s < segments.count(); ++s)
    require(segments.length(s) > 0, "[segment_mean] expected at least one row in segment ", s, ", got none");
  auto op = std::make_unique<SegmentMean>();
  op->segments = segments;
  const Tensor y = Tensor::empty({segments.count(), x.shape()[1]}, x.value().dtype(), x.value().device());
  x.kernels().segment_mean(y, x.value(), segments);
  return x.tape().record(std::move(op), y, {x});
}

}  // namespace gyre
