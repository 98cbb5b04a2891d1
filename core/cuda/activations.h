// Activations and their derivatives, for one element. NaN stays NaN, because each comparison with NaN is false.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <numbers>

#include "gyre/core/kernels/kernels.h"

namespace gyre::cuda {

struct Relu {
  static constexpr Activation kind = Activation::relu;
  template <class C>
  static __device__ C value(C x) {
    return x < C(0) ? C(0) : x;
  }
  template <class C>
  static __device__ C derivative(C x) {
    return x <= C(0) ? C(0) : C(1);  // 1 for NaN, as in PyTorch
  }
};

// x Phi(x), with erf (Hendrycks & Gimpel 2016). For large negative x, Phi(x) is a rounding error; x is clamped so that
// it does not amplify the error.
struct Gelu {
  static constexpr Activation kind = Activation::gelu;
  static __device__ float normal_cdf(float x) { return 0.5f * (1 + erff(x * float(1 / std::numbers::sqrt2))); }
  static __device__ double normal_cdf(double x) { return 0.5 * (1 + erf(x * (1 / std::numbers::sqrt2))); }

  template <class C>
  static __device__ C value(C x) {
    return (x < C(-8) ? C(-8) : x) * normal_cdf(x);
  }
  // Phi(x) + x Phi'(x)
  static __device__ float derivative(float x) {
    const float z = x < -8.0f ? -8.0f : x > 8.0f ? 8.0f : x;  // outside, Phi' is 0 up to rounding
    return normal_cdf(z) + z * __expf(-0.5f * z * z) * float(std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  }
  static __device__ double derivative(double x) {
    return normal_cdf(x) + x * exp(-0.5 * x * x) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  }
};

struct Tanh {
  static constexpr Activation kind = Activation::tanh;
  template <class C>
  static __device__ C value(C x) {
    return std::tanh(x);
  }
  template <class C>
  static __device__ C derivative(C x) {
    const C y = value(x);
    return (1 - y) * (1 + y);
  }
};

// x sigmoid(x). Below -87 the result is 0 up to 1e-35; x is clamped so that -infinity gives no NaN.
struct Silu {
  static constexpr Activation kind = Activation::silu;
  template <class C>
  static __device__ C clamped(C x) {
    return x < C(-87) ? C(-87) : x;
  }
  template <class C>
  static __device__ C sigmoid(C z) {
    return 1 / (1 + std::exp(-z));
  }
  template <class C>
  static __device__ C value(C x) {
    const C z = clamped(x);
    return z * sigmoid(z);
  }
  template <class C>
  static __device__ C derivative(C x) {
    const C z = clamped(x), s = sigmoid(z);
    return s * (1 + z * (1 - s));
  }
};

// The tanh approximation of gelu. Beyond +-10 the tanh is +-1, and x is clamped so that no power of it overflows.
struct GeluTanh {
  static constexpr Activation kind = Activation::gelu_tanh;
  static constexpr double kSlope = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2/pi)
  template <class C>
  static __device__ C clamped(C x) {
    const C above = x < C(-10) ? C(-10) : x;
    return above > C(10) ? C(10) : above;
  }
  template <class C>
  static __device__ C tanh_term(C z) {
    return std::tanh(C(kSlope) * z * (1 + C(kGeluTanhCubic) * z * z));
  }
  template <class C>
  static __device__ C value(C x) {
    return C(0.5) * (x < C(-10) ? C(-10) : x) * (1 + tanh_term(clamped(x)));
  }
  template <class C>
  static __device__ C derivative(C x) {
    const C z = clamped(x), t = tanh_term(z);
    return C(0.5) * ((1 + t) + z * (1 - t) * (1 + t) * C(kSlope) * (1 + C(3 * kGeluTanhCubic) * z * z));
  }
};

struct EluPlusOne {
  static constexpr Activation kind = Activation::elu_plus_one;
  template <class C>
  static __device__ C value(C x) {
    return x > C(0) ? x + 1 : std::exp(x);
  }
  template <class C>
  static __device__ C derivative(C x) {
    return x > C(0) ? C(1) : std::exp(x);
  }
};

struct ReluPlus {
  static constexpr Activation kind = Activation::relu_plus;
  template <class C>
  static __device__ C value(C x) {
    return Relu::value(x) + C(kReluPlusOffset);
  }
  template <class C>
  static __device__ C derivative(C x) {
    return Relu::derivative(x);
  }
};

struct BoundedExp {
  static constexpr Activation kind = Activation::bounded_exp;
  template <class C>
  static __device__ C value(C x) {
    return std::exp(x > C(kMaxExponent) ? C(kMaxExponent) : x);
  }
  template <class C>
  static __device__ C derivative(C x) {
    return x >= C(kMaxExponent) ? C(0) : std::exp(x);
  }
};

// Calls f with the struct of `kind`: f(Relu{}), f(Gelu{}), ..
template <class F>
void with_activation(Activation kind, F&& f) {
  switch (kind) {
    case Activation::relu:
      return f(Relu{});
    case Activation::gelu:
      return f(Gelu{});
    case Activation::tanh:
      return f(Tanh{});
    case Activation::silu:
      return f(Silu{});
    case Activation::gelu_tanh:
      return f(GeluTanh{});
    case Activation::elu_plus_one:
      return f(EluPlusOne{});
    case Activation::relu_plus:
      return f(ReluPlus{});
    case Activation::bounded_exp:
      return f(BoundedExp{});
  }
}

}  // namespace gyre::cuda
