// A custom op with a hand-written backward pass: RMS norm (Zhang & Sennrich 2019). Gyre's own is gyre::rms_norm().
#pragma once

#include <gyre/autograd/tape.h>
#include <gyre/core/tensor.h>

#include <cmath>

namespace example {

// Set to demonstrate that a gradient check detects an error.
inline bool leave_out_a_term = false;

// y = gamma * xhat,  xhat = x * rstd,  rstd = 1 / sqrt(mean(x^2) + epsilon), over the last axis.
//   g  = gamma * dy
//   dx = rstd * (g - xhat * mean(g * xhat));  dgamma = sum_rows(dy * xhat)
struct RmsNorm final : gyre::Op {
  gyre::Tensor rstd;  // saved: one number per row
  std::string_view name() const override { return "rms_norm"; }
  // The next two are for inspection tools.
  std::string_view formula() const override {
    return "y = gamma * xhat,  xhat = x * rstd,  rstd = 1 / sqrt(mean(x^2) + epsilon)\n"
           "  g = gamma * dy\n"
           "  dx = rstd * (g - xhat * mean(g * xhat));  dgamma += sum_rows(dy * xhat)";
  }
  void describe(gyre::OpMetadata& metadata) const override { metadata.save("rstd", rstd); }

  void backward(gyre::Backward& b) override {
    gyre::dispatch_float(b.doutput(), [&]<class T>(T) { gradients<T>(b); });
  }

  template <class T>
  void gradients(gyre::Backward& b) const {
    const gyre::Tensor dx = b.dinput(0), dgamma = b.dparameter(1);  // undefined if not needed
    const auto x = gyre::matrix<T>(b.input(0)), dy = gyre::matrix<T>(b.doutput());
    const std::span<T> gamma = b.input(1).span<T>();
    for (int64_t i = 0; i < x.rows(); ++i) {
      const T r = rstd.span<T>()[i];
      T mean = 0;
      for (int64_t j = 0; j < x.cols(); ++j) mean += gamma[j] * dy(i, j) * x(i, j) * r / T(x.cols());
      if (leave_out_a_term) mean = 0;
      for (int64_t j = 0; j < x.cols(); ++j) {
        if (dx) gyre::matrix<T>(dx)(i, j) = r * (gamma[j] * dy(i, j) - x(i, j) * r * mean);  // data: overwritten
        if (dgamma) dgamma.span<T>()[j] += dy(i, j) * x(i, j) * r;                           // parameters: added to
      }
    }
  }
};

// x(n,d), gamma(d), on the CPU, in f32 for training or f64 for gradient checks.
inline gyre::Var rms_norm(const gyre::Var& x, const gyre::Var& gamma, double epsilon = 1e-5) {
  const gyre::Shape last{x.shape()[-1]};
  gyre::require(gamma.shape() == last, "[rms_norm] expected gamma of shape ", last, ", got ", gamma.shape());
  auto op = std::make_unique<RmsNorm>();
  op->rstd = gyre::Tensor::empty({x.value().rows()}, x.value().dtype());
  const gyre::Tensor y = x.value().like();
  gyre::dispatch_float(y, [&]<class T>(T) {
    const auto in = gyre::matrix<T>(x.value()), out = gyre::matrix<T>(y);
    for (int64_t i = 0; i < in.rows(); ++i) {
      T squares = 0;
      for (const T number : in.row(i)) squares += number * number;
      const T r = op->rstd.span<T>()[i] = 1 / std::sqrt(squares / T(in.cols()) + T(epsilon));
      for (int64_t j = 0; j < in.cols(); ++j) out(i, j) = gamma.value().span<T>()[j] * in(i, j) * r;
    }
  });
  return x.tape().record(std::move(op), y, {x, gamma});
}

}  // namespace example
