// The functions of elements (core/kernels/element_formulas.inc) in device code.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <numbers>

#include "gyre/core/float16.h"
#include "gyre/core/kernels/arguments.h"

#define GYRE_ELEMENT __device__

namespace gyre::cuda {

template <class C>
__device__ inline C exponential(C x) {
  return std::exp(x);
}
template <class C>
__device__ inline C any_exponential(C x) {
  return std::exp(x);
}
template <class C>
__device__ inline C hyperbolic_tangent(C x) {
  return std::tanh(x);
}
template <class C>
__device__ inline C logarithm(C x) {
  return std::log(x);
}
template <class C>
__device__ inline C sine(C x) {
  return std::sin(x);
}
template <class C>
__device__ inline C cosine(C x) {
  return std::cos(x);
}
template <class C>
__device__ inline C square_root(C x) {
  return std::sqrt(x);
}
template <class C>
__device__ inline C raised(C x, C exponent) {
  return std::pow(x, exponent);
}
template <class C>
__device__ inline C error_function(C x) {
  return std::erf(x);
}

__device__ inline float normal_cdf(float x) { return 0.5f * (1 + erff(x * float(1 / std::numbers::sqrt2))); }
__device__ inline double normal_cdf(double x) { return 0.5 * (1 + erf(x * (1 / std::numbers::sqrt2))); }

__device__ inline float gelu_slope(float x) {
  const float z = x < -8.0f ? -8.0f : x > 8.0f ? 8.0f : x;  // outside, Phi' is 0 up to rounding
  return normal_cdf(z) + z * __expf(-0.5f * z * z) * float(std::numbers::inv_sqrtpi / std::numbers::sqrt2);
}
__device__ inline double gelu_slope(double x) {
  return normal_cdf(x) + x * exp(-0.5 * x * x) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
}

#include "gyre/core/kernels/element_formulas.inc"

}  // namespace gyre::cuda

#undef GYRE_ELEMENT
