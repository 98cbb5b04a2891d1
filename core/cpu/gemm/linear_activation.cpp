// pre = x w^T + bias;  y = keep act(pre), with keep the dropout factors.
//   dpre = keep act'(pre) dy;  dx = dx_before + dpre w;  dw += dpre^T x;  dbias += sum_rows(dpre)
// For relu, keep act'(pre) is 1 / (1 - rate) if y > 0, otherwise 0, so that only y is saved.
#include <algorithm>
#include <bit>

#include "gyre/core/cpu/activation_strips.h"
#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/dropout_factors.h"
#include "gyre/core/cpu/gemm/linear.h"
#include "gyre/core/cpu/strips.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// x rounded to T, without a temporary of type bfloat16, which would keep a loop from being vectorized.
template <class T, class S>
S rounded(S x) {
  if constexpr (std::is_same_v<T, S>) {
    return x;
  } else {
    const auto bits = std::bit_cast<uint32_t>(x);
    return std::bit_cast<S>((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000);
  }
}

// y[j] = keep(j) act(pre[j]), with pre(j) rounded to T first, and stored in `kept` unless that is null. The numbers
// before the activation pass through a buffer in the first-level cache.
template <class T, class Pre, class Keep, class S = Compute<T>>
void activate(T* y, T* kept, int64_t begin, int64_t end, Activation kind, Pre pre, Keep keep) {
  alignas(kVectorBytes) Buffer<S> numbers;
  for (int64_t first = begin; first < end; first += kStripSize) {
    const int64_t n = std::min(kStripSize, end - first);
    if (kept) {
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) {
        numbers[j] = rounded<T>(pre(first + j));
        kept[first + j] = numbers[j];
      }
    } else {
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) numbers[j] = rounded<T>(pre(first + j));
    }
    activate_strip(numbers, numbers, n, kind);
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) y[first + j] = numbers[j] * keep(first + j);
  }
}

// Computes a part of a row of dpre, elements begin .. end - 1 of it, and adds it to the sums of dbias.
template <class T, class Keep, class S = Compute<T>>
void backward_strips(T* dpre, S* dbias, const T* dy, const T* saved, int64_t begin, int64_t end, Activation kind,
                     Keep keep) {
  alignas(kVectorBytes) Buffer<S> slopes;
  for (int64_t first = begin; first < end; first += kStripSize) {
    const int64_t n = std::min(kStripSize, end - first);
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) slopes[j] = saved[first + j];
    activation_slopes(slopes, slopes, n, kind);
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      dpre[first + j] = S(dy[first + j]) * keep(first + j) * slopes[j];
      dbias[first + j] += dpre[first + j];
    }
  }
}

// Computes one row of dpre, and adds it to the sums of dbias.
template <class T, class S = Compute<T>>
void backward_row(T* dpre, S* dbias, const T* dy, const T* saved, int64_t row, int64_t o, Activation kind,
                  const DropoutMask& mask) {
  const S kept = S(1 / (1 - mask.rate));
  if (kind == Activation::relu || mask.rate == 0) {
    backward_strips(dpre, dbias, dy, saved, 0, o, kind, [kept](int64_t) { return kept; });
  } else {
    for_ranges_of_mask<S>(o, row * o, mask, [&](int64_t begin, int64_t end, auto keep) {
      backward_strips(dpre, dbias, dy, saved, begin, end, kind, keep);
    });
  }
}

}  // namespace

void CpuKernels::linear_activation(const Tensor& y, const Tensor& pre, const Tensor& x, const Tensor& w,
                                   const Tensor& bias, Activation kind, const DropoutMask& mask) {
  dispatch_data_type(x, [&]<class T>(T) {
    using S = Compute<T>;
    const ProductShape shape{x.rows(), w.dim(0), x.cols()};
    const S* b = data_or_null<S>(bias);
    T* kept_pre = data_or_null<T>(pre);
    product_rows<T>(y, shape, rows(x), rows(w), [&](T* to, const S* sums, int64_t row, int64_t column, int64_t n) {
      T* kept = kept_pre ? kept_pre + row * shape.n + column : nullptr;
      for_ranges_of_mask<S>(n, row * shape.n + column, mask, [=](int64_t begin, int64_t end, auto keep) {
        if (b) {
          activate(
              to, kept, begin, end, kind, [=](int64_t j) { return sums[j] + b[column + j]; }, keep);
        } else {
          activate(
              to, kept, begin, end, kind, [=](int64_t j) { return sums[j]; }, keep);
        }
      });
    });
  });
}

void CpuKernels::linear_activation_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy,
                                            const Tensor& x, const Tensor& w, const Tensor& saved,
                                            const Tensor& dx_before, Activation kind, const DropoutMask& mask) {
  dispatch_data_type(x, [&]<class T>(T) {
    using S = Compute<T>;
    const int64_t o = w.dim(0);
    const Tensor dpre = dy.like();
    std::vector<S> sum(static_cast<size_t>(o), S(0));
    sum_rows(sum.data(), x.rows(), o, [&](S* partial, int64_t row) {
      backward_row(dpre.data<T>() + row * o, partial, dy.data<T>() + row * o, saved.data<T>() + row * o, row, o, kind,
                   mask);
    });
    for (int64_t j = 0; dbias && j < o; ++j) dbias.data<S>()[j] += sum[size_t(j)];
    product_backward<T>(dx, dw, dpre, x, w, dx_before);
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
