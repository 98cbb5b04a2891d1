// Ops of linear attention: products and normalization per head, feature maps, and the scan.
#include <cmath>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/composed.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {

// x(n, heads * width) as (n * heads, width): every head of every row is a row of its own.
static Var by_head(const Var& x, int64_t heads) { return reshape(x, {x.shape()[0] * heads, x.shape()[1] / heads}); }

// ---- Dot product of each head's features with a learned vector per head --------------------------------------------

namespace {

Var composed_head_dot(const Var& x, const Var& w, int heads, double factor) {
  return reshape(factor * sum(by_head(x * w, heads), 1), {x.shape()[0], heads});
}

struct HeadDot final : Op {
  std::string_view formula() const override {
    return R"(
      y_ih = factor * x_ih . w_h
        dx_ih = factor * dy_ih w_h;  dw_h += factor * sum_i dy_ih x_ih
    )"_formula;
  }
  double factor = 1;
  std::string_view name() const override { return "head_dot"; }
  void describe(OpMetadata& metadata) const override { metadata.attribute("factor", factor); }
  void backward(Backward& b) override {
    b.kernels().head_dot_backward(b.dinput(0), b.dparameter(1), b.doutput(), b.input(0), b.input(1), factor);
  }
};

}  // namespace

Var head_dot(const Var& x, const Var& w, int heads, double factor) {
  require(x.shape().rank() == 2 && w.shape() == Shape{x.shape()[1]} && heads > 0 && w.shape()[0] % heads == 0,
          "[head_dot] expected x(n,d) and w(d) of ", heads, " heads, got ", x.shape(), " and ", w.shape());
  if (!x.tape().fused(&Kernels::head_dot_op)) return composed_head_dot(widened(x), w, heads, factor);
  auto op = std::make_unique<HeadDot>();
  op->factor = factor;
  const Tensor y = Tensor::empty({x.shape()[0], heads}, w.value().dtype(), x.value().device());
  x.kernels().head_dot(y, x.value(), w.value(), factor);
  return x.tape().record(std::move(op), y, {x, w});
}

namespace {

Var composed_head_matmul(const Var& x, const Var& w, int heads) {
  return reshape(composed_linear(by_head(x, heads), w, {}), {x.shape()[0], heads * w.shape()[0]});
}

// linear() without a bias on x reshaped to (n * heads, width).
struct HeadMatmul final : Op {
  std::string_view formula() const override {
    return R"(
      y_h = x_h w^T for every head h
        dx_h = dy_h w;  dw += sum_h dy_h^T x_h
    )"_formula;
  }
  double multiply_adds = 0;
  std::string_view name() const override { return "head_matmul"; }
  double flops() const override { return 2 * multiply_adds; }
  void backward(Backward& b) override {
    const Tensor &x = b.input(0), &w = b.input(1), &dy = b.doutput();
    const Shape rows{x.size() / w.dim(1), w.dim(1)};
    const Tensor dx = b.dinput(0);
    b.kernels().linear_backward(dx ? dx.reshape(rows) : Tensor(), b.dparameter(1), {}, dy.reshape({rows[0], w.dim(0)}),
                                x.reshape(rows), b.product_weight(w, x.dtype()), {});
  }
};

}  // namespace

Var head_matmul(const Var& x, const Var& w, int heads) {
  require(x.shape().rank() == 2 && w.shape().rank() == 2 && heads > 0 && x.shape()[1] == heads * w.shape()[1],
          "[head_matmul] expected x(n, heads * width) of ", heads, " heads and w(features, width), got ", x.shape(),
          " and ", w.shape());
  const int64_t n = x.shape()[0], features = w.shape()[0], width = w.shape()[1];
  if (!x.tape().fused(&Kernels::head_matmul_op)) return composed_head_matmul(x, w, heads);
  auto op = std::make_unique<HeadMatmul>();
  op->multiply_adds = double(x.value().size()) * double(features);
  const Tensor y = Tensor::empty({n, heads * features}, w.value().dtype(), x.value().device());
  x.kernels().linear(y.reshape({n * heads, features}), x.value().reshape({n * heads, width}),
                     x.tape().product_weight(w.value(), x.value().dtype()), {});
  return x.tape().record(std::move(op), y, {x, w});
}

Var head_softmax(const Var& x, int heads) {
  require(x.shape().rank() == 2 && heads > 0 && x.shape()[1] % heads == 0,
          "[head_softmax] expected x(n, heads * width) of ", heads, " heads, got ", x.shape());
  return reshape(softmax(by_head(x, heads)), x.shape());
}

// ---- FAVOR+ random features (Choromanski et al. 2021): p is the product of x with random vectors -------------------

namespace {

Var composed_favor_features(const Var& p, const Var& x, int heads, FavorSide side) {
  const Var products = by_head(p, heads), rows = by_head(x, heads);
  const double factor = std::pow(double(rows.shape()[1]), -0.25), features = double(products.shape()[1]);
  const Var shift = side == FavorSide::queries ? max(factor * products, 1) : factor * factor / 2 * sum(rows * rows, 1);
  const Var exponentials = composed_activation(factor * products - shift, Activation::bounded_exp);
  return reshape((exponentials + kFavorEpsilon) / std::sqrt(features), p.shape());
}

// Inputs: p; for keys also x.
struct FavorFeatures final : Op {
  std::string_view formula() const override {
    return R"(
      y_i = features^-1/2 (e_i + 1e-4),  e_i = exp(c p_i - shift),  c = width^-1/4
      keys: shift = c^2 |x|^2 / 2;  queries: shift = c p_l, p_l the largest
        g_i = dy_i features^-1/2 e_i
        keys:    dp_i = c g_i;  dx = -c^2 x sum_i g_i
        queries: dp_i = c g_i, and dp_l -= c sum_i g_i
    )"_formula;
  }
  int heads = 1;
  double factor = 1;
  FavorSide side = FavorSide::queries;
  std::string_view name() const override { return "favor_features"; }
  void describe(OpMetadata& metadata) const override {
    metadata.attribute("heads", heads);
    metadata.attribute("side", side == FavorSide::queries ? "queries" : "keys");
  }
  void backward(Backward& b) override {
    const Tensor dp = b.dinput(0), dx = b.dinput(1);
    b.kernels().favor_features_backward(dp ? dp : b.input(0).like(), dx, b.doutput(), b.input(0), b.input(1), heads,
                                        factor);
  }
};

}  // namespace

Var favor_features(const Var& p, const Var& x, int heads, FavorSide side) {
  require(p.shape().rank() == 2 && x.shape().rank() == 2 && p.shape()[0] == x.shape()[0] && heads > 0 &&
              p.shape()[1] % heads == 0 && x.shape()[1] % heads == 0,
          "[favor_features] expected products(n, heads * features) and x(n, heads * width) of ", heads, " heads, got ",
          p.shape(), " and ", x.shape());
  if (!p.tape().fused(&Kernels::favor_features_op))
    return stored(composed_favor_features(p, widened(x), heads, side), x.value().dtype());
  auto op = std::make_unique<FavorFeatures>();
  op->heads = heads;
  op->factor = std::pow(double(x.shape()[1]) / heads, -0.25);
  op->side = side;
  const Tensor y = Tensor::empty(p.shape(), x.value().dtype(), x.value().device());
  const Var shift = side == FavorSide::keys ? x : Var();
  p.kernels().favor_features(y, p.value(), shift.value(), heads, op->factor);
  return p.tape().record(std::move(op), y, {p, shift});
}

// ---- Division of each head's features by one number per head: the normalization of linear attention ----------------

namespace {

Var composed_head_divide(const Var& a, const Var& b, double epsilon) {
  const int64_t heads = b.shape()[1];
  return reshape(by_head(a, heads) / by_head(b + epsilon, heads), a.shape());
}

struct HeadDivide final : Op {
  std::string_view formula() const override {
    return R"(
      y = a / (b + epsilon), with one b for all features of a head
        da = dy / (b + epsilon);  db = -(dy . a) / (b + epsilon)^2
    )"_formula;
  }
  double epsilon = 0;
  std::string_view name() const override { return "head_divide"; }
  void describe(OpMetadata& metadata) const override { metadata.attribute("epsilon", epsilon); }
  void backward(Backward& b) override {
    b.kernels().head_divide_backward(b.dinput(0), b.dinput(1), b.doutput(), b.input(0), b.input(1), epsilon);
  }
};

}  // namespace

Var head_divide(const Var& a, const Var& b, double epsilon) {
  require(a.shape().rank() == 2 && b.shape().rank() == 2 && a.shape()[0] == b.shape()[0] && b.shape()[1] > 0 &&
              a.shape()[1] % b.shape()[1] == 0,
          "[head_divide] expected a(n, heads * width) and b(n, heads), got ", a.shape(), " and ", b.shape());
  if (!a.tape().fused(&Kernels::head_divide_op))
    return stored(composed_head_divide(widened(a), b, epsilon), a.value().dtype());
  auto op = std::make_unique<HeadDivide>();
  op->epsilon = epsilon;
  const Tensor y = a.value().like();
  a.kernels().head_divide(y, a.value(), b.value(), epsilon);
  return a.tape().record(std::move(op), y, {a, b});
}

namespace {

// The quadratic form, which multiplies every query with every key. An empty v stands for ones.
Var composed_linear_attention_scan(const Var& q, const Var& k, const Var& v, const Segments& segments, int heads,
                                   ScanDirection direction) {
  std::vector<Var> outputs;
  for (int s = 0; s < segments.count(); ++s) {
    const int64_t n = segments.length(s);
    if (n == 0) continue;
    const auto head_of = [&](const Var& x, int head) {
      const int64_t width = x.shape()[1] / heads;
      return slice(slice(x, 0, segments.begin(s), n), 1, head * width, width);
    };
    std::vector<double> selected;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        selected.push_back(direction == ScanDirection::all || (direction == ScanDirection::before ? j <= i : j >= i));
    const Var mask = constant_beside(q, {n, n}, selected);
    std::vector<Var> of_heads;
    for (int head = 0; head < heads; ++head) {
      const Var weights = matmul(head_of(q, head), head_of(k, head), false, true) * mask;
      of_heads.push_back(v ? matmul(weights, head_of(v, head)) : sum(weights, 1));
    }
    outputs.push_back(concat(of_heads, 1));
  }
  if (outputs.empty()) return v ? v : slice(q, 1, 0, heads);  // there are no rows
  return concat(outputs, 0);
}

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
  if (!q.tape().fused(&Kernels::linear_attention_scan_op)) {
    const Var out =
        composed_linear_attention_scan(widened(q), widened(k), v ? widened(v) : v, segments, heads, direction);
    return v ? stored(out, v.value().dtype()) : out;
  }
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
