// Linear and norm layers. Each registers its parameters as name.weight and name.bias.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gyre/models/config/config.h"

namespace gyre {

// y(n, out) = x(n, in) w^T + bias, w(out, in). The bias, if there is one, is initialized to zero.
class LinearLayer {
 public:
  LinearLayer(Parameters& parameters, const std::string& name, int64_t in, int64_t out, const Init& weight,
              bool has_bias = true);
  // Sets the rows of the matrices that the weight stacks (Parameter::matrix_rows), by default one matrix.
  void set_matrices(std::vector<int64_t> rows) { weight_->matrix_rows = std::move(rows); }

  Var operator()(const Var& x) const;
  // Columns first .. first + count - 1 of y: one of several fused projections.
  Var columns(const Var& x, int64_t first, int64_t count) const;
  // dropout(activation(y)), in one pass.
  Var activated(const Var& x, Activation kind, double dropout = 0) const;

 private:
  Var bias(Tape& tape) const { return bias_ ? tape.parameter(*bias_) : Var(); }

  Parameter *weight_, *bias_ = nullptr;
};

// Layer norm with or without a bias, or RMS norm, which has none.
class NormLayer {
 public:
  // The norm of rows of `dim` elements, or of groups of them (rms_norm).
  NormLayer(Parameters& parameters, const std::string& name, int64_t dim, NormType type, bool has_bias, double epsilon);
  // A norm of the residual stream.
  NormLayer(Parameters& parameters, const std::string& name, const LayerConfig& config);
  Var operator()(const Var& x) const;
  // The norm of residual + dropout(x), in one pass.
  Var after_residual(const Var& residual, const Var& x, double dropout) const;

 private:
  Var beta(Tape& tape) const { return beta_ ? tape.parameter(*beta_) : Var(); }

  Parameter *gamma_, *beta_ = nullptr;
  NormType type_;
  double epsilon_;
};

}  // namespace gyre
