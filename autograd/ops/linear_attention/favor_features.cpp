// FAVOR+ random features (Choromanski et al. 2021): p is the product of x with random vectors.
#include <cmath>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

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
  auto op = std::make_unique<FavorFeatures>();
  op->heads = heads;
  op->factor = std::pow(double(x.shape()[1]) / heads, -0.25);
  op->side = side;
  const Tensor y = Tensor::empty(p.shape(), x.value().dtype(), x.value().device());
  const Var shift = side == FavorSide::keys ? x : Var();
  p.kernels().favor_features(y, p.value(), shift.value(), heads, op->factor);
  return p.tape().record(std::move(op), y, {p, shift});
}

}  // namespace gyre
