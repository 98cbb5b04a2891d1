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
  with_data_type(a, [&]<class T>(T) {
    using C = Compute<T>;
    T* o = out.data<T>();
    const T *x = a.data<T>(), *y = b.data<T>();
    for_each_element(out.size(), [=](int64_t i) { o[i] = T(C(x[i]) + C(y[i])); });
  });
}

void CpuKernels::scale(const Tensor& out, const Tensor& a, double factor) {
  with_data_type(a, [&]<class T>(T) {
    using C = Compute<T>;
    T* o = out.data<T>();
    const T* x = a.data<T>();
    const C f = C(factor);
    for_each_element(out.size(), [=](int64_t i) { o[i] = T(C(x[i]) * f); });
  });
}

void CpuKernels::activation(const Tensor& y, const Tensor& x, Activation kind) {
  with_data_type(x, [&]<class T>(T) {
    using C = Compute<T>;
    T* out = y.data<T>();
    const T* in = x.data<T>();
    if (kind == Activation::relu) {
      for_each_element(x.size(), [=](int64_t i) { out[i] = T(C(in[i]) > C(0) ? C(in[i]) : C(0)); });
    } else {
      for_each_element(x.size(), [=](int64_t i) { out[i] = T(C(in[i]) * normal_cdf(C(in[i]))); });
    }
  });
}

// relu: dx = dy where x > 0.  gelu: dx = dy (Phi(x) + x phi(x)).
void CpuKernels::activation_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, Activation kind) {
  with_data_type(x, [&]<class T>(T) {
    using C = Compute<T>;
    T* out = dx.data<T>();
    const T *g = dy.data<T>(), *in = x.data<T>();
    if (kind == Activation::relu) {
      for_each_element(x.size(), [=](int64_t i) { out[i] = T(C(g[i]) * C(int(C(in[i]) > C(0)))); });  // no branch
    } else {
      for_each_element(x.size(), [=](int64_t i) {
        const C at = C(in[i]);
        out[i] = T(C(g[i]) * (normal_cdf(at) + at * normal_density(at)));
      });
    }
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
