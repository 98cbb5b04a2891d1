#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

// The gradients are sums of the same form, with the roles of q, k, v and dout exchanged.
struct LinearAttentionScan final : Op {
  std::string_view formula() const override {
    return R"(
      out_m = sum_n (q_m . k_n) v_n, over n <= m (before), n >= m (after), or all n of the segment
        dq_m = sum_n (dout_m . v_n) k_n            over the same n
        dk_n = sum_m (v_n . dout_m) q_m            over the m whose sum has n: the reversed direction
        dv_n = sum_m (k_n . q_m) dout_m            over the same m as dk_n
    )"_formula;
  }
  Segments segments;
  int heads = 1;
  ScanDirection direction = ScanDirection::all;
  double multiply_adds = 0;
  std::string_view name() const override { return "linear_attention_scan"; }
  double flops() const override { return 2 * multiply_adds; }
  std::string_view direction_name() const {
    if (direction == ScanDirection::all) return "all";
    return direction == ScanDirection::before ? "before" : "after";
  }
  void describe(OpMetadata& metadata) const override {
    metadata.attribute("heads", heads);
    metadata.attribute("direction", direction_name());
    metadata.attribute("segments", segments.count());
  }
  void backward(Backward& b) override {
    const Tensor &q = b.input(0), &k = b.input(1), &v = b.input(2), &dout = b.doutput();
    const auto sums = [&](const Tensor& out, const Tensor& of, const Tensor& with, const Tensor& rows,
                          ScanDirection d) {
      if (out) b.kernels().linear_attention_scan(out, of, with, rows, segments, heads, d);
    };
    sums(b.dinput(0), dout, v, k, direction);
    sums(b.dinput(1), v, dout, q, reversed(direction));
    sums(b.dinput(2), k, q, dout, reversed(direction));
  }
};

}  // namespace

Var linear_attention_scan(const Var& q, const Var& k, const Var& v, const Segments& segments, int heads,
                          ScanDirection direction) {
  require(q.shape().rank() == 2 && q.shape() == k.shape() && heads > 0 && q.shape()[1] % heads == 0,
          "[linear_attention_scan] expected q and k(n, heads * features) of ", heads, " heads, got ", q.shape(),
          " and ", k.shape());
  require(!v || (v.shape().rank() == 2 && v.shape()[0] == q.shape()[0] && v.shape()[1] % heads == 0),
          "[linear_attention_scan] expected v(n, heads * width) of ", q.shape()[0], " rows and ", heads, " heads, got ",
          v.shape());
  require(segments.tokens() == q.shape()[0], "[linear_attention_scan] the segments cover ", segments.tokens(),
          " rows, got ", q.shape()[0]);
  const int64_t columns = v ? v.shape()[1] : heads;
  auto op = std::make_unique<LinearAttentionScan>();
  op->segments = segments;
  op->heads = heads;
  op->direction = direction;
  // Per row, one product updates the state (k v^T) and one reads it (q state).
  op->multiply_adds = 2 * double(q.value().size()) * double(columns) / heads;
  const DType type = v ? v.value().dtype() : statistics_dtype(q.value().dtype());
  const Tensor out = Tensor::empty({q.shape()[0], columns}, type, q.value().device());
  q.kernels().linear_attention_scan(out, q.value(), k.value(), v.value(), segments, heads, direction);
  return q.tape().record(std::move(op), out, {q, k, v});
}

}  // namespace gyre
