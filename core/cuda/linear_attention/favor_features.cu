// FAVOR+ features (Choromanski et al. 2021): y_i = features^-1/2 (e_i + 1e-4), e_i = exp(min(c p_i - shift, 60)), where
// c is `factor`. The shift is c^2 |x|^2 / 2 for keys and max_i c p_i for queries. Backward:
//   g_i = dy_i features^-1/2 e_i, or 0 if the exponent is above 60;  dp_i = c g_i
//   keys: dx = -c^2 x sum_i g_i;   queries: dp_i -= c sum_j g_j for the largest p_i
#include <cmath>

#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/warp_rows.h"

namespace gyre::cuda {
namespace {

template <class D>
struct Favor {
  using T = Compute<D>;
  const T* p;
  const D* x;  // null: queries
  int features, width;
  T factor, norm;

  Favor(const Tensor& p, const Tensor& x, int heads, double factor)
      : p(p.data<T>()),
        x(data_or_null<D>(x)),
        features(int(p.cols() / heads)),
        width(x ? int(x.cols() / heads) : 0),
        factor(T(factor)),
        norm(T(1 / std::sqrt(double(features)))) {}

  // The shift of a head. Called by the whole warp.
  __device__ T shift(const WarpRow& h) const {
    if (!x) {
      T largest = p[h.row * features];
      for (int f = h.lane; f < features; f += kWarp) largest = max(largest, p[h.row * features + f]);
      return factor * warp_max(largest);
    }
    T sum = 0;
    for (int f = h.lane; f < width; f += kWarp) {
      const T value = load(x + h.row * width + f);
      sum += value * value;
    }
    return factor * factor * warp_sum(sum) / 2;
  }
  // The first feature with the largest product. Called by the whole warp.
  __device__ int largest(const WarpRow& h) const {
    const T* row = p + h.row * features;
    int best = h.lane < features ? h.lane : 0;
    for (int f = h.lane; f < features; f += kWarp) best = row[f] > row[best] ? f : best;
    for (int step = kWarp / 2; step > 0; step /= 2) {
      const int other = __shfl_xor_sync(0xFFFFFFFF, best, step);
      if (row[other] > row[best] || (row[other] == row[best] && other < best)) best = other;
    }
    return best;
  }
};

template <class D>
__global__ void favor_kernel(int64_t jobs, D* y, Favor<D> a) {
  using T = Compute<D>;
  const WarpRow h;
  if (h.row >= jobs) return;
  const T shift = a.shift(h), bound = T(kMaxExponent);
  for (int f = h.lane; f < a.features; f += kWarp) {
    const T e = a.factor * a.p[h.row * a.features + f] - shift;
    store(y + h.row * a.features + f, a.norm * (std::exp(e < bound ? e : bound) + T(kFavorEpsilon)));
  }
}

template <class D>
__global__ void backward_kernel(int64_t jobs, Compute<D>* dp, D* dx, const D* dy, Favor<D> a) {
  using T = Compute<D>;
  const WarpRow h;
  if (h.row >= jobs) return;
  const T shift = a.shift(h);
  const int largest = a.x ? -1 : a.largest(h);
  T sum = 0, of_largest = 0;
  for (int f = h.lane; f < a.features; f += kWarp) {
    const int64_t i = h.row * a.features + f;
    const T e = a.factor * a.p[i] - shift;
    const T part = e < T(kMaxExponent) ? load(dy + i) * a.norm * std::exp(e) : T(0);
    sum += part;
    if (f == largest)
      of_largest = part;
    else
      dp[i] = a.factor * part;
  }
  sum = warp_sum(sum);
  if (largest >= 0 && largest % kWarp == h.lane) dp[h.row * a.features + largest] = a.factor * (of_largest - sum);
  if (!dx) return;
  for (int f = h.lane; f < a.width; f += kWarp)
    store(dx + h.row * a.width + f, -a.factor * a.factor * load(a.x + h.row * a.width + f) * sum);
}

}  // namespace

void CudaKernels::favor_features(const Tensor& y, const Tensor& p, const Tensor& x, int heads, double factor) {
  dispatch_data_type(y, [&]<class D>(D) {
    launch_rows(context_, favor_kernel<D>, p.rows() * heads, y.data<D>(), Favor<D>(p, x, heads, factor));
  });
}

void CudaKernels::favor_features_backward(const Tensor& dp, const Tensor& dx, const Tensor& dy, const Tensor& p,
                                          const Tensor& x, int heads, double factor) {
  dispatch_data_type(dy, [&]<class D>(D) {
    launch_rows(context_, backward_kernel<D>, p.rows() * heads, dp.data<Compute<D>>(), data_or_null<D>(dx),
                dy.data<D>(), Favor<D>(p, x, heads, factor));
  });
}

}  // namespace gyre::cuda
