#include "gyre/models/modules/linear.h"

namespace gyre {

LinearLayer::LinearLayer(Parameters& parameters, const std::string& name, int64_t in, int64_t out, const Init& weight)
    : weight_(&parameters.add(name + ".weight", {out, in}, weight)),
      bias_(&parameters.add(name + ".bias", {out}, Init::constant(0), /*decay=*/false)) {}

Var LinearLayer::operator()(const Var& x) const {
  return linear(x, x.tape().parameter(*weight_), x.tape().parameter(*bias_));
}

Var LinearLayer::columns(const Var& x, int64_t first, int64_t count) const {
  return linear(x, x.tape().parameter(*weight_), x.tape().parameter(*bias_), first, count);
}

Var LinearLayer::activated(const Var& x, Activation kind, double dropout) const {
  return linear_activation(x, x.tape().parameter(*weight_), x.tape().parameter(*bias_), kind, dropout);
}

LayerNormLayer::LayerNormLayer(Parameters& parameters, const std::string& name, int64_t dim, double epsilon)
    : gamma_(&parameters.add(name + ".weight", {dim}, Init::constant(1), /*decay=*/false)),
      beta_(&parameters.add(name + ".bias", {dim}, Init::constant(0), /*decay=*/false)),
      epsilon_(epsilon) {}

Var LayerNormLayer::operator()(const Var& x) const {
  return layer_norm(x, x.tape().parameter(*gamma_), x.tape().parameter(*beta_), epsilon_);
}

Var LayerNormLayer::after_residual(const Var& residual, const Var& x, double dropout) const {
  return residual_layer_norm(residual, x, dropout, x.tape().parameter(*gamma_), x.tape().parameter(*beta_), epsilon_);
}

}  // namespace gyre
