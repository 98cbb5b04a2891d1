// An op of one's own: RMS norm (Zhang & Sennrich 2019), with a backward pass written by hand and checked against finite
// differences. Status 1 when a gradient is off; with --wrong a term of dx is left out, so that it is.
#include <cmath>
#include <cstdio>
#include <string_view>

#include "autograd/gradcheck.h"

using namespace gyre;

bool leave_out_a_term = false;

// y = gamma * xhat,  xhat = x * rrms,  rrms = 1 / sqrt(mean(x^2) + epsilon), over the last axis.
//   g  = gamma * dy
//   dx = rrms * (g - xhat * mean(g * xhat));  dgamma = sum_rows(dy * xhat)
template <class T>
struct RmsNorm final : Op {
  Tensor rrms;  // saved: a number per row
  std::string_view name() const override { return "rms_norm"; }

  void backward(Backward& b) override {
    const Tensor dx = b.dinput(0), dgamma = b.dparameter(1);  // undefined where nobody wants them
    const int64_t n = b.input(0).rows(), d = b.input(0).cols();
    const T* gamma = b.input(1).data<T>();
    for (int64_t i = 0; i < n; ++i) {
      const T *x = b.input(0).data<T>() + i * d, *dy = b.doutput().data<T>() + i * d, r = rrms.data<T>()[i];
      T mean = 0;
      for (int64_t j = 0; j < d; ++j) mean += gamma[j] * dy[j] * x[j] * r / T(d);
      if (leave_out_a_term) mean = 0;
      for (int64_t j = 0; j < d; ++j) {
        if (dx) dx.data<T>()[i * d + j] = r * (gamma[j] * dy[j] - x[j] * r * mean);  // data: overwritten
        if (dgamma) dgamma.data<T>()[j] += dy[j] * x[j] * r;                         // parameters: added to
      }
    }
  }
};

template <class T>
Var rms_norm_of(const Var& x, const Var& gamma, double epsilon) {
  const int64_t n = x.value().rows(), d = x.value().cols();
  auto op = std::make_unique<RmsNorm<T>>();
  op->rrms = Tensor::empty({n}, dtype_of<T>());
  const Tensor y = x.value().like();
  for (int64_t i = 0; i < n; ++i) {
    const T* row = x.value().data<T>() + i * d;
    T squares = 0;
    for (int64_t j = 0; j < d; ++j) squares += row[j] * row[j];
    const T r = op->rrms.template data<T>()[i] = 1 / std::sqrt(squares / T(d) + T(epsilon));
    for (int64_t j = 0; j < d; ++j) y.data<T>()[i * d + j] = gamma.value().data<T>()[j] * row[j] * r;
  }
  return x.tape().record(std::move(op), y, {x, gamma});
}

// x(n,d), gamma(d), on the CPU: f32 to train with, f64 for gradient checks.
Var rms_norm(const Var& x, const Var& gamma, double epsilon = 1e-5) {
  const Shape last{x.shape()[-1]};
  require(gamma.shape() == last, "[rms_norm] gamma must be ", last.text(), ", got ", gamma.shape().text());
  return x.value().dtype() == DType::f64 ? rms_norm_of<double>(x, gamma, epsilon)
                                         : rms_norm_of<float>(x, gamma, epsilon);
}

int main(int argc, char** argv) {
  leave_out_a_term = argc > 1 && std::string_view(argv[1]) == "--wrong";
  const auto f = [](Tape&, const std::vector<Var>& inputs) { return rms_norm(inputs[0], inputs[1]); };
  const std::vector<NamedInput> inputs{{"x", normal_tensor({5, 16}, DType::f64, 1, 0)},
                                       {"gamma", normal_tensor({16}, DType::f64, 1, 1)}};
  bool passed = true;
  for (const GradcheckResult& r : gradcheck(cpu_kernels(), f, inputs, {.tolerance = 1e-7})) {
    const GradcheckEntry worst = r.worst();
    std::printf("d%s: worst error %.1e, analytic %.9f, numeric %.9f\n", r.input.c_str(), worst.error, worst.analytic,
                worst.numeric);
    passed &= r.passed;
  }
  return passed ? 0 : 1;
}
