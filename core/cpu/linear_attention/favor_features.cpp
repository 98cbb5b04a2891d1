// FAVOR+ features (Choromanski et al. 2021): y_i = features^-1/2 (e_i + 1e-4), e_i = exp(min(c p_i - shift, 60)), where
// c is `factor`. The shift is c^2 |x|^2 / 2 for keys and max_i c p_i for queries. Backward:
//   g_i = dy_i features^-1/2 e_i, or 0 if the exponent is above 60;  dp_i = c g_i
//   keys: dx = -c^2 x sum_i g_i;   queries: dp_i -= c sum_j g_j for the largest p_i
#include <algorithm>
#include <cmath>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"
#include "gyre/core/cpu/vector_math.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class D>
struct Favor {
  using T = Compute<D>;
  const T* p;
  const D* x;  // null: queries
  int64_t features, width;
  T factor;

  Favor(const Tensor& p, const Tensor& x, int heads, double factor)
      : p(p.data<T>()),
        x(data_or_null<D>(x)),
        features(p.cols() / heads),
        width(x ? x.cols() / heads : 0),
        factor(T(factor)) {}

  // The products p of head `i`, counted over the heads of all rows.
  const T* products(int64_t i) const { return p + i * features; }
  int64_t largest(int64_t i) const { return std::max_element(products(i), products(i) + features) - products(i); }
  T shift(int64_t i) const {
    if (!x) return factor * products(i)[largest(i)];
    const D* row = x + i * width;
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t f = 0; f < width; ++f) sum += T(row[f]) * T(row[f]);
    return factor * factor * sum / 2;
  }
};

}  // namespace

void CpuKernels::favor_features(const Tensor& y, const Tensor& p, const Tensor& x, int heads, double factor) {
  dispatch_data_type(y, [&]<class D>(D) {
    using T = Compute<D>;
    const Favor<D> a(p, x, heads, factor);
    const T norm = T(1 / std::sqrt(double(a.features)));
    parallel_ranges(p.rows() * heads, a.features, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T shift = a.shift(i), *in = a.products(i);
        D* out = y.data<D>() + i * a.features;
#pragma omp simd
        for (int64_t f = 0; f < a.features; ++f) {
          const T e = a.factor * in[f] - shift;
          out[f] = norm * (exponential(e < T(kMaxExponent) ? e : T(kMaxExponent)) + T(kFavorEpsilon));
        }
      }
    });
  });
}

void CpuKernels::favor_features_backward(const Tensor& dp, const Tensor& dx, const Tensor& dy, const Tensor& p,
                                         const Tensor& x, int heads, double factor) {
  dispatch_data_type(dy, [&]<class D>(D) {
    using T = Compute<D>;
    const Favor<D> a(p, x, heads, factor);
    const T norm = T(1 / std::sqrt(double(a.features)));
    parallel_ranges(p.rows() * heads, a.features, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T shift = a.shift(i), *in = a.products(i);
        const D* g = dy.data<D>() + i * a.features;
        T* to = dp.data<T>() + i * a.features;
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t f = 0; f < a.features; ++f) {
          const T e = a.factor * in[f] - shift;
          const T bounded = exponential(e < T(kMaxExponent) ? e : T(kMaxExponent));
          const T part = e < T(kMaxExponent) ? T(g[f]) * norm * bounded : T(0);
          to[f] = a.factor * part;
          sum += part;
        }
        if (!a.x) to[a.largest(i)] -= a.factor * sum;
        for (int64_t f = 0; dx && f < a.width; ++f)
          dx.data<D>()[i * a.width + f] = -a.factor * a.factor * T(a.x[i * a.width + f]) * sum;
      }
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
