// Elementary functions that the compiler can vectorize: without branches and calls. The fp64 versions, for gradient
// checks, call the standard library.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace gyre::GYRE_CPU_NAMESPACE {

// exp(r) for |r| <= ln 2 / 2: a minimax polynomial of relative error 9e-8, exact at 0.
inline float exponential_near_0(float r) {
  float p = 0.00829027193f;
  p = p * r + 0.0418981597f;
  p = p * r + 0.166676381f;
  p = p * r + 0.499991478f;
  p = p * r + 0.999999706f;
  return p * r + 1.0f;
}

// exp(x) within 2 ulp for -87 <= x <= 88. Smaller x gives 0; larger x is not supported. With x = n ln 2 + r,
// |r| <= ln 2 / 2, exp(x) = 2^n exp(r). Adding 1.5 * 2^23 leaves the integer n + 127 in the low bits of `shifted`; a
// shift moves it to the exponent bits of 2^n.
inline float exponential(float x) {
  constexpr float log2e = 1.44269504f, ln2_high = 0.693145751953125f, ln2_low = 1.42860677e-6f;
  constexpr float round = 12582912.0f + 127;  // 1.5 * 2^23
  const float shifted = x * log2e + round, n = shifted - round;
  const float r = (x - n * ln2_high) - n * ln2_low;
  const float p = exponential_near_0(r);
  const float power = std::bit_cast<float>(std::bit_cast<uint32_t>(shifted) << 23);
  return x < -87.0f ? 0.0f : p * power;
}
inline double exponential(double x) { return std::exp(x); }

// exp(x) for all x, with infinities, NaN and subnormal results. 2^n is the product of two powers, which are normal.
inline float any_exponential(float x) {
  constexpr float log2e = 1.44269504f, ln2_high = 0.693145751953125f, ln2_low = 1.42860677e-6f;
  constexpr float round = 12582912.0f;  // 1.5 * 2^23
  const float below = x > 89.0f ? 89.0f : x, z = below < -105.0f ? -105.0f : below;
  const float shifted = z * log2e + round, n = shifted - round;
  const float r = (z - n * ln2_high) - n * ln2_low;
  const float p = exponential_near_0(r);
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(round), half = exponent >> 1;
  const auto power = [](int32_t e) { return std::bit_cast<float>(uint32_t(e + 127) << 23); };
  return p * power(half) * power(exponent - half);
}
inline double any_exponential(double x) { return std::exp(x); }

// log(x) within 2 ulp. With x = 2^e m, sqrt(1/2) <= m < sqrt(2), and s = (m - 1) / (m + 1), log(m) = 2 s (1 + t P(t)),
// t = s^2, P minimax.
inline float logarithm(float x) {
  constexpr float ln2_high = 0.693145751953125f, ln2_low = 1.42860677e-6f, infinity = INFINITY;
  const bool subnormal = x < 1.17549435e-38f;
  const auto bits = std::bit_cast<uint32_t>(subnormal ? x * 8388608.0f : x);
  const int32_t exponent = int32_t(bits - 0x3F3504F3) >> 23;
  const float m = std::bit_cast<float>(bits - (uint32_t(exponent) << 23));
  const float e = float(exponent - (subnormal ? 23 : 0));
  const float f = m - 1, s = f / (2 + f), t = s * s;
  float p = 0.117369346f;
  p = p * t + 0.142717198f;
  p = p * t + 0.20000115f;
  p = p * t + 0.333333343f;
  // 2 s = f - s f exactly, so that f, which is exact, is added last but one.
  const float y = e * ln2_high + (f + (s * (2 * t * p - f) + e * ln2_low));
  const float special = x == 0 ? -infinity : NAN;
  return x > 0 ? (x < infinity ? y : x) : special;
}
inline double logarithm(double x) { return std::log(x); }

// tanh(x) within 2 ulp. Near 0 it is an odd polynomial, minimax in relative error: 1 - exp(-2 |x|) would cancel.
inline float hyperbolic_tangent(float x) {
  const float t = x * x;
  float p = -0.00626930688f;
  p = p * t + 0.0211111046f;
  p = p * t - 0.053873986f;
  p = p * t + 0.133329153f;
  p = p * t - 0.333333313f;
  const float e = exponential(-2 * std::abs(x));
  return std::abs(x) < 0.6f ? x * t * p + x : std::copysign((1 - e) / (1 + e), x);
}
inline double hyperbolic_tangent(double x) { return std::tanh(x); }

template <class T>
inline T clamp_magnitude(T x, T limit) {
  const T above = x < -limit ? -limit : x;
  return above > limit ? limit : above;
}

// Phi(x) - 1/2, Phi the cumulative distribution function of the standard normal: x P(x^2) / Q(x^2), minimax for
// |x| <= 5.5. Beyond that Phi is constant to 2e-8, and x is clamped.
inline float normal_cdf_above_half(float x) {
  const float z = clamp_magnitude(x, 5.5f), t = z * z;
  float p = 2.27491857e-8f, q = 1.19748097e-6f;
  p = p * t + 6.35188082e-6f;
  q = q * t + 7.36429684e-5f;
  p = p * t + 0.00016881416f;
  q = q * t + 0.00188438068f;
  p = p * t + 0.00467718924f;
  q = q * t + 0.0286452924f;
  p = p * t + 0.0338516932f;
  q = q * t + 0.251519531f;
  p = p * t + 0.398942235f;
  q = q * t + 1.0f;
  return z * p / q;
}
// Phi(x), within 1.5e-7.
inline float normal_cdf(float x) { return 0.5f + normal_cdf_above_half(x); }
inline double normal_cdf(double x) { return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }

// erf(x), within 3e-7.
inline float error_function(float x) { return 2 * normal_cdf_above_half(x * float(std::numbers::sqrt2)); }
inline double error_function(double x) { return std::erf(x); }

template <class T>
inline T square_root(T x) {
  return std::sqrt(x);
}
// These call the standard library for each element.
template <class T>
inline T sine(T x) {
  return std::sin(x);
}
template <class T>
inline T cosine(T x) {
  return std::cos(x);
}
template <class T>
inline T raised(T x, T exponent) {
  return std::pow(x, exponent);
}

// Phi(x) + x Phi'(x), the derivative of gelu, within 2e-7: an approximation of the same form, for |x| <= 6.
inline float gelu_slope(float x) {
  const float z = clamp_magnitude(x, 6.0f), t = z * z;
  float p = -2.88790321e-11f, q = 3.63593136e-7f;
  p = p * t + 1.30019108e-8f;
  p = p * t + 1.1217804e-6f;
  q = q * t + 1.08114992e-5f;
  p = p * t + 3.2027152e-5f;
  q = q * t + 0.000258592023f;
  p = p * t + 0.000285168037f;
  q = q * t + 0.00415006039f;
  p = p * t + 0.0135691302f;
  q = q * t + 0.0455816801f;
  p = p * t - 0.0180410998f;
  q = q * t + 0.310721685f;
  p = p * t + 0.797884522f;
  q = q * t + 1.0f;
  return 0.5f + z * p / q;
}
inline double gelu_slope(double x) {
  return normal_cdf(x) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
