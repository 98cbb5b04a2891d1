#include "autograd/ops.h"
#include "autograd/ops/formula.h"

namespace gyre {
namespace {

// The same sums give its gradients, with the roles exchanged.
struct LinearSums final : Op {
  std::string_view formula() const override {
    return R"(
      out_m = sum_n (q_m . k_n) v_n, n <= m (before), n >= m (after), or all of the segment
        dq_m = sum_n (dout_m . v_n) k_n            the same n
        dk_n = sum_m (v_n . dout_m) q_m            the m that n is summed by: the reversed direction
        dv_n = sum_m (k_n . q_m) dout_m            likewise
    )"_formula;
  }
  Segments segments;
  int heads = 1;
  SumDirection direction = SumDirection::all;
  double multiply_adds = 0;
  std::string_view name() const override { return "linear_sums"; }
  double flops() const override { return 2 * multiply_adds; }
  void describe(OpFacts& facts) const override {
    constexpr std::string_view directions[] = {"before", "after", "all"};
    facts.attribute("heads", heads);
    facts.attribute("direction", directions[size_t(direction)]);
    facts.attribute("segments", segments.count());
  }
  void backward(Backward& b) override {
    const Tensor &q = b.input(0), &k = b.input(1), &v = b.input(2), &dout = b.doutput();
    const auto sums = [&](const Tensor& out, const Tensor& of, const Tensor& with, const Tensor& rows, SumDirection d) {
      if (out) b.kernels().linear_sums(out, of, with, rows, segments, heads, d);
    };
    sums(b.dinput(0), dout, v, k, direction);
    sums(b.dinput(1), v, dout, q, reversed(direction));
    sums(b.dinput(2), k, q, dout, reversed(direction));
  }
};

}  // namespace

Var linear_sums(const Var& q, const Var& k, const Var& v, const Segments& segments, int heads, SumDirection direction) {
  require(q.shape().rank() == 2 && q.shape() == k.shape() && heads > 0 && q.shape()[1] % heads == 0,
          "[linear_sums] expected q and k(n, heads * features) of ", heads, " heads, got ", q.shape().text(), " and ",
          k.shape().text());
  require(!v || (v.shape().rank() == 2 && v.shape()[0] == q.shape()[0] && v.shape()[1] % heads == 0),
          "[linear_sums] expected v(n, heads * width) of ", q.shape()[0], " rows and ", heads, " heads, got ",
          v ? v.shape().text() : "");
  require(segments.tokens() == q.shape()[0], "[linear_sums] the segments cover ", segments.tokens(), " rows, got ",
          q.shape()[0]);
  Tape& tape = q.tape();
  const int64_t columns = v ? v.shape()[1] : heads;
  auto op = std::make_unique<LinearSums>();
  op->segments = segments;
  op->heads = heads;
  op->direction = direction;
  // Into the state and out of it.
  op->multiply_adds = 2 * double(q.value().size()) * double(columns) / heads;
  const DType type = v ? v.value().dtype() : statistics_dtype(q.value().dtype());
  const Tensor out = Tensor::empty({q.shape()[0], columns}, type, q.value().device());
  const Var values = v ? v : tape.constant({});
  q.kernels().linear_sums(out, q.value(), k.value(), values.value(), segments, heads, direction);
  return tape.record(std::move(op), out, {q, k, values});
}

}  // namespace gyre
