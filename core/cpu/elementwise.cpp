// out = a + b;  out = a * factor;  rounding to bf16;  activations, gated activations and their derivatives.
#include "gyre/core/cpu/activations.h"
#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// Calls f(i) for every element, in parallel.
template <class F>
void for_each_element(int64_t n, F f) {
  parallel_ranges(n, 1, [f](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

}  // namespace

void CpuKernels::add(const Tensor& out, const Tensor& a, const Tensor& b) {
  dispatch_data_type(a, [&]<class T>(T) {
    T* o = out.data<T>();
    const T *x = a.data<T>(), *y = b.data<T>();
    for_each_element(out.size(), [=](int64_t i) { o[i] = x[i] + y[i]; });
  });
}

void CpuKernels::scale(const Tensor& out, const Tensor& a, double factor) {
  dispatch_data_type(a, [&]<class T>(T) {
    using C = Compute<T>;
    T* o = out.data<T>();
    const T* x = a.data<T>();
    const C f = C(factor);
    for_each_element(out.size(), [=](int64_t i) { o[i] = x[i] * f; });
  });
}

void CpuKernels::round_to_bf16(const Tensor& out, const Tensor& x) {
  auto* o = out.data<bfloat16>();
  const auto* from = x.data<float>();
  for_each_element(x.size(), [=](int64_t i) { o[i] = from[i]; });
}

void CpuKernels::activation(const Tensor& y, const Tensor& x, Activation kind) {
  dispatch_data_type(x, [&]<class T>(T) {
    T* out = y.data<T>();
    const T* in = x.data<T>();
    with_activation(kind, [&]<class A>(A) {
      for_each_element(x.size(), [=](int64_t i) { out[i] = A::value(Compute<T>(in[i])); });
    });
  });
}

void CpuKernels::activation_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, Activation kind) {
  dispatch_data_type(x, [&]<class T>(T) {
    T* out = dx.data<T>();
    const T *g = dy.data<T>(), *in = x.data<T>();
    with_activation(kind, [&]<class A>(A) {
      for_each_element(x.size(), [=](int64_t i) { out[i] = g[i] * A::derivative(Compute<T>(in[i])); });
    });
  });
}

void CpuKernels::gated_activation(const Tensor& y, const Tensor& x, Activation kind) {
  dispatch_data_type(x, [&]<class T>(T) {
    const int64_t f = y.cols();
    T* out = y.data<T>();
    const T* in = x.data<T>();
    with_activation(kind, [&]<class A>(A) {
      parallel_ranges(y.rows(), f, [=](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          T* to = out + row * f;
          const T *gate = in + row * 2 * f, *value = gate + f;
#pragma omp simd
          for (int64_t j = 0; j < f; ++j) to[j] = A::value(Compute<T>(gate[j])) * value[j];
        }
      });
    });
  });
}

void CpuKernels::gated_activation_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, Activation kind) {
  dispatch_data_type(x, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t f = dy.cols();
    T* out = dx.data<T>();
    const T *slopes = dy.data<T>(), *in = x.data<T>();
    with_activation(kind, [&]<class A>(A) {
      parallel_ranges(dy.rows(), f, [=](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const T *g = slopes + row * f, *gate = in + row * 2 * f, *value = gate + f;
          T *dgate = out + row * 2 * f, *dvalue = dgate + f;
#pragma omp simd
          for (int64_t j = 0; j < f; ++j) {
            const C at = gate[j], slope = g[j];
            dgate[j] = slope * value[j] * A::derivative(at);
            dvalue[j] = slope * A::value(at);
          }
        }
      });
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
