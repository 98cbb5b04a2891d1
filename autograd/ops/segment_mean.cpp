#include <algorithm>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/composed.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

// A product with 0 and 1. A NaN or infinity in one row makes the means of all segments NaN, unlike in the fused op, and
// a precision that rounds the operands of products rounds x.
Var composed_segment_mean(const Var& x, const Segments& segments) {
  const int count = segments.count();
  if (count == 0) return x;
  std::vector<int32_t> segment_of(size_t(segments.tokens()));
  for (int s = 0; s < count; ++s)
    std::fill(segment_of.begin() + segments.begin(s), segment_of.begin() + segments.end(s), s);
  const Var identity = pick(number_beside(x, 1), count, count, [](int64_t i, int64_t j) { return i == j ? 0 : -1; });
  const Var member = gather_rows(identity, Tensor::from({segments.tokens()}, segment_of));  // (n, segments): 1 or 0
  return matmul(member, x, true) / transpose(sum(member, 0));
}

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
  if (!x.tape().fused(&Kernels::segment_mean_op))
    return stored(composed_segment_mean(widened(x), segments), x.value().dtype());
  auto op = std::make_unique<SegmentMean>();
  op->segments = segments;
  const Tensor y = Tensor::empty({segments.count(), x.shape()[1]}, x.value().dtype(), x.value().device());
  x.kernels().segment_mean(y, x.value(), segments);
  return x.tape().record(std::move(op), y, {x});
}

}  // namespace gyre
