// Activations and their derivatives, one element at a time.
#pragma once

#include <numbers>

#include "core/cpu/vector_math.h"
#include "core/kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Phi(x): the normal distribution's cumulative function.
template <class T>
inline T normal_cdf(T x) {
  return T(0.5) * (T(1) + error_function(x * T(std::numbers::sqrt2 / 2)));
}

// phi(x): its density.
template <class T>
inline T normal_density(T x) {
  constexpr T kInverseSqrt2Pi = T(0.3989422804014327);
  return kInverseSqrt2Pi * exponential(T(-0.5) * x * x);
}

struct Relu {
  static constexpr Activation kind = Activation::relu;
  template <class T>
  static T value(T x) {
    return x > T(0) ? x : T(0);
  }
  template <class T>
  static T derivative(T x) {
    return T(int(x > T(0)));  // no branch to guess
  }
};

// x Phi(x), with erf (Hendrycks & Gimpel 2016).
struct Gelu {
  static constexpr Activation kind = Activation::gelu;
  template <class T>
  static T value(T x) {
    return x * normal_cdf(x);
  }
  template <class T>
  static T derivative(T x) {
    return normal_cdf(x) + x * normal_density(x);
  }
};

// Calls f(Relu{}) or f(Gelu{}).
template <class F>
void with_activation(Activation kind, F&& f) {
  kind == Activation::relu ? f(Relu{}) : f(Gelu{});
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
