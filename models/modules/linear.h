// Linear and layer norm layers. Each registers its parameters as name.weight and name.bias.
#pragma once

#include <string>

#include "gyre/autograd/ops.h"

namespace gyre {

// y(n, out) = x(n, in) w^T + bias, w(out, in). The bias is initialized to zero.
class LinearLayer {
 public:
  LinearLayer(Parameters& parameters, const std::string& name, int64_t in, int64_t out, const Init& weight);
  Var operator()(const Var& x) const;
  // Columns first .. first + count - 1 of y: one of several fused projections.
  Var columns(const Var& x, int64_t first, int64_t count) const;
  // dropout(activation(y)), in one pass.
  Var activated(const Var& x, Activation kind, double dropout = 0) const;

 private:
  Parameter *weight_, *bias_;
};

class LayerNormLayer {
 public:
  LayerNormLayer(Parameters& parameters, const std::string& name, int64_t dim, double epsilon);
  Var operator()(const Var& x) const;
  // The norm of residual + dropout(x), in one pass.
  Var after_residual(const Var& residual, const Var& x, double dropout) const;

 private:
  Parameter *gamma_, *beta_;
  double epsilon_;
};

}  // namespace gyre
