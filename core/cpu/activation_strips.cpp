#include "gyre/core/cpu/activation_strips.h"

#include "gyre/core/cpu/formulas.h"

namespace gyre::GYRE_CPU_NAMESPACE {

template <class C>
void activate_strip(C* y, const C* x, int64_t n, Activation kind) {
  with_activation(kind, [=]<class A>(A) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = A::value(x[i]);
  });
}

template <class C>
void activation_slopes(C* slopes, const C* x, int64_t n, Activation kind) {
  with_activation(kind, [=]<class A>(A) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) slopes[i] = A::derivative(x[i]);
  });
}

template void activate_strip(float* y, const float* x, int64_t n, Activation kind);
template void activate_strip(double* y, const double* x, int64_t n, Activation kind);
template void activation_slopes(float* slopes, const float* x, int64_t n, Activation kind);
template void activation_slopes(double* slopes, const double* x, int64_t n, Activation kind);

}  // namespace gyre::GYRE_CPU_NAMESPACE
