// out = a + b;  out = a * factor;  activations and their derivatives.
#include <numbers>

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/parallel.h"
#include "core/cpu/vector_math.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// f(i) for every element.
template <class F>
void for_each_element(int64_t n, F f) {
  parallel_ranges(n, 1, [f](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

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

}  // namespace

void CpuKernels::add(const Tensor& out, const Tensor& a, const Tensor& b) {
  with_type(a, [&]<class T>(T) {
    T* o = out.data<T>();
    const T *x = a.data<T>(), *y = b.data<T>();
    for_each_element(out.size(), [=](int64_t i) { o[i] = x[i] + y[i]; });
  });
}

void CpuKernels::scale(const Tensor& out, const Tensor& a, double factor) {
  with_type(a, [&]<class T>(T) {
    T* o = out.data<T>();
    const T *x = a.data<T>(), f = T(factor);
    for_each_element(out.size(), [=](int64_t i) { o[i] = x[i] * f; });
  });
}

void CpuKernels::activation(const Tensor& y, const Tensor& x, Activation kind) {
  with_type(x, [&]<class T>(T) {
    T* out = y.data<T>();
    const T* in = x.data<T>();
    if (kind == Activation::relu) {
      for_each_element(x.size(), [=](int64_t i) { out[i] = in[i] > T(0) ? in[i] : T(0); });
    } else {
      for_each_element(x.size(), [=](int64_t i) { out[i] = in[i] * normal_cdf(in[i]); });
    }
  });
}

// relu: dx = dy where x > 0.  gelu: dx = dy (Phi(x) + x phi(x)).
void CpuKernels::activation_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, Activation kind) {
  with_type(x, [&]<class T>(T) {
    T* out = dx.data<T>();
    const T *g = dy.data<T>(), *in = x.data<T>();
    if (kind == Activation::relu) {
      for_each_element(x.size(), [=](int64_t i) { out[i] = g[i] * T(int(in[i] > T(0))); });  // no branch to guess
    } else {
      for_each_element(x.size(),
                       [=](int64_t i) { out[i] = g[i] * (normal_cdf(in[i]) + in[i] * normal_density(in[i])); });
    }
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
