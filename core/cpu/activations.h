// Activations and their derivatives, for one element. NaN stays NaN, because each comparison with NaN is false.
#pragma once

#include "gyre/core/cpu/vector_math.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

struct Relu {
  static constexpr Activation kind = Activation::relu;
  template <class T>
  static T value(T x) {
    return x < T(0) ? T(0) : x;
  }
  template <class T>
  static T derivative(T x) {
    return T(int(!(x <= T(0))));  // no branch; 1 for NaN, as in PyTorch
  }
};

// x Phi(x), with erf (Hendrycks & Gimpel 2016). For large negative x, Phi(x) is a rounding error; x is clamped so that
// it does not amplify the error.
struct Gelu {
  static constexpr Activation kind = Activation::gelu;
  template <class T>
  static T value(T x) {
    return (x < T(-8) ? T(-8) : x) * normal_cdf(x);
  }
  template <class T>
  static T derivative(T x) {
    return gelu_slope(x);
  }
};

struct Tanh {
  static constexpr Activation kind = Activation::tanh;
  template <class T>
  static T value(T x) {
    return hyperbolic_tangent(x);
  }
  template <class T>
  static T derivative(T x) {
    const T y = value(x);
    return (1 - y) * (1 + y);
  }
};

// x sigmoid(x). Below -87 the result is 0 up to 1e-35, and exp(-x) would overflow.
struct Silu {
  static constexpr Activation kind = Activation::silu;
  template <class T>
  static T clamped(T x) {
    return x < T(-87) ? T(-87) : x;
  }
  template <class T>
  static T sigmoid(T z) {
    return 1 / (1 + exponential(-z));
  }
  template <class T>
  static T value(T x) {
    const T z = clamped(x);
    return z * sigmoid(z);
  }
  template <class T>
  static T derivative(T x) {
    const T z = clamped(x), s = sigmoid(z);
    return s * (1 + z * (1 - s));
  }
};

// The tanh approximation of gelu. Beyond +-10 the tanh is +-1, and x is clamped so that no power of it overflows.
struct GeluTanh {
  static constexpr Activation kind = Activation::gelu_tanh;
  static constexpr double kSlope = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2/pi)
  template <class T>
  static T tanh_term(T z) {
    return hyperbolic_tangent(T(kSlope) * z * (1 + T(kGeluTanhCubic) * z * z));
  }
  template <class T>
  static T value(T x) {
    return T(0.5) * (x < T(-10) ? T(-10) : x) * (1 + tanh_term(clamp_magnitude(x, T(10))));
  }
  template <class T>
  static T derivative(T x) {
    const T z = clamp_magnitude(x, T(10)), t = tanh_term(z);
    return T(0.5) * ((1 + t) + z * (1 - t) * (1 + t) * T(kSlope) * (1 + T(3 * kGeluTanhCubic) * z * z));
  }
};

struct EluPlusOne {
  static constexpr Activation kind = Activation::elu_plus_one;
  template <class T>
  static T value(T x) {
    const T e = derivative(x);
    return x > T(0) ? x + 1 : e;
  }
  template <class T>
  static T derivative(T x) {
    return exponential(x > T(0) ? T(0) : x);
  }
};

struct ReluPlus {
  static constexpr Activation kind = Activation::relu_plus;
  template <class T>
  static T value(T x) {
    return Relu::value(x) + T(kReluPlusOffset);
  }
  template <class T>
  static T derivative(T x) {
    return Relu::derivative(x);
  }
};

struct BoundedExp {
  static constexpr Activation kind = Activation::bounded_exp;
  template <class T>
  static T value(T x) {
    return exponential(x > T(kMaxExponent) ? T(kMaxExponent) : x);
  }
  template <class T>
  static T derivative(T x) {
    return x >= T(kMaxExponent) ? T(0) : value(x);
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

}  // namespace gyre::GYRE_CPU_NAMESPACE
