#include "gyre/models/modules/linear.h"

namespace gyre {

LinearLayer::LinearLayer(Parameters& parameters, const std::string& name, int64_t in, int64_t out, const Init& weight,
                         bool has_bias)
    : weight_(&parameters.add(name + ".weight", {out, in}, weight)) {
  weight_->matrix_rows = {out};
  if (has_bias) bias_ = &parameters.add(name + ".bias", {out}, Init::constant(0), /*decay=*/false);
}

Var LinearLayer::operator()(const Var& x) const { return linear(x, x.tape().parameter(*weight_), bias(x.tape())); }

Var LinearLayer::columns(const Var& x, int64_t first, int64_t count) const {
  return linear(x, x.tape().parameter(*weight_), bias(x.tape()), first, count);
}

Var LinearLayer::activated(const Var& x, Activation kind, double dropout) const {
  return linear_activation(x, x.tape().parameter(*weight_), bias(x.tape()), kind, dropout);
}

NormLayer::NormLayer(Parameters& parameters, const std::string& name, int64_t dim, NormType type, bool has_bias,
                     double epsilon)
    : gamma_(&parameters.add(name + ".weight", {dim}, Init::constant(1), /*decay=*/false)),
      type_(type),
      epsilon_(epsilon) {
  if (type == NormType::layer && has_bias)
    beta_ = &parameters.add(name + ".bias", {dim}, Init::constant(0), /*decay=*/false);
}

NormLayer::NormLayer(Parameters& parameters, const std::string& name, const LayerConfig& c)
    : NormLayer(parameters, name, c.dim, c.norm_type, c.biases != Biases::none, c.layer_norm_epsilon) {}

Var NormLayer::operator()(const Var& x) const {
  const Var gamma = x.tape().parameter(*gamma_);
  return type_ == NormType::rms ? rms_norm(x, gamma, epsilon_) : layer_norm(x, gamma, beta(x.tape()), epsilon_);
}

Var NormLayer::after_residual(const Var& residual, const Var& x, double dropout) const {
  if (type_ == NormType::rms || !beta_) return (*this)(residual_dropout(residual, x, dropout));
  return residual_layer_norm(residual, x, dropout, x.tape().parameter(*gamma_), beta(x.tape()), epsilon_);
}

}  // namespace gyre
