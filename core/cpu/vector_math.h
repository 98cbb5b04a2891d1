// Elementary functions that the compiler can vectorise: no branches, no calls. fp64 takes the library's, for gradient
// checks.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace gyre::GYRE_CPU_NAMESPACE {

// exp(x) within 2 ulp for x in [-87, 88]; smaller x gives 0, larger is clamped.
// x = n ln 2 + r, |r| <= ln 2 / 2; exp(r) by its Taylor polynomial of degree 7; 2^n by the exponent's bits.
inline float exponential(float x) {
  constexpr float log2e = 1.44269504f, ln2_high = 0.693145751953125f, ln2_low = 1.42860677e-6f, round = 12582912.0f;
  const float clamped = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  const float n = (clamped * log2e + round) - round;
  const float r = (clamped - n * ln2_high) - n * ln2_low;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const float power = std::bit_cast<float>((int32_t(n) + 127) << 23);
  return x < -87.0f ? 0.0f : p * power;
}
inline double exponential(double x) { return std::exp(x); }

// erf(x) to 1.5e-7: Abramowitz & Stegun 7.1.26.
inline float error_function(float x) {
  const float a = x < 0 ? -x : x;
  const float t = 1.0f / (1.0f + 0.3275911f * a);
  const float poly =
      ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t;
  const float y = 1.0f - poly * exponential(-a * a);
  return x < 0 ? -y : y;
}
inline double error_function(double x) { return std::erf(x); }

}  // namespace gyre::GYRE_CPU_NAMESPACE
