// Scaled dot-product attention over packed segments, forward.
//   s_ij = scale q_i . k_j over the visible keys;  lse_i = log sum_j exp(s_ij);  p_ij = exp(s_ij - lse_i);  out_i =
//   sum_j p_ij v_j
#include <cmath>
#include <limits>

#include "core/cpu/attention_head.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/parallel.h"
#include "core/cpu/vector_math.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// Scores become weights exp(s - lse), zero beyond the visible keys; returns lse.
template <class T>
T softmax_row(T* s, int64_t visible, int64_t padded, T scale) {
  T largest = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : largest)
  for (int64_t j = 0; j < visible; ++j) {
    s[j] *= scale;
    largest = s[j] > largest ? s[j] : largest;
  }
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < visible; ++j) {
    s[j] = exponential(s[j] - largest);
    sum += s[j];
  }
  const T inverse = visible > 0 ? T(1) / sum : T(0);
#pragma omp simd
  for (int64_t j = 0; j < visible; ++j) s[j] *= inverse;
  std::fill(s + visible, s + padded, T(0));
  return visible > 0 ? largest + std::log(sum) : -std::numeric_limits<T>::infinity();
}

template <class T>
struct ForwardArguments {
  T *out, *lse;
  const T *q, *k, *v;
  int64_t lse_stride;  // query rows of the whole batch
  T scale;
  WeightDropout dropout;
};

template <class T>
void forward_head(const ForwardArguments<T>& a, const Head& h, Scratch<T>& scratch) {
  const int64_t width = round_up(h.width, kLanes<T>), keys = round_up(h.keys, kLanes<T>);
  T* kt = scratch.take(0, h.width * keys);
  T* v = scratch.take(1, h.keys * width);
  T* weights = scratch.take(2, kQueryBlock * keys);
  T* out = scratch.take(3, kQueryBlock * width);
  pack_transposed(kt, keys, a.k + h.first_key * h.d + h.index * h.width, h.d, h.keys, h.width);
  pack_rows(v, width, a.v + h.first_key * h.d + h.index * h.width, h.d, h.keys, h.width);
  for (int64_t begin = 0; begin < h.queries; begin += kQueryBlock) {
    const int64_t n = std::min(kQueryBlock, h.queries - begin), row = h.first_query + begin;
    const int64_t seen = h.visible(begin + n - 1), padded = round_up(seen, kLanes<T>);
    const int64_t at = row * h.d + h.index * h.width;
    small_gemm<T>(weights, keys, {a.q + at, h.d, 1}, kt, keys, n, padded, h.width, false);
    for (int64_t i = 0; i < n; ++i) {
      a.lse[h.index * a.lse_stride + row + i] = softmax_row(weights + i * keys, h.visible(begin + i), padded, a.scale);
      if (a.dropout.active()) a.dropout.apply(weights + i * keys, seen, h.index, row + i);
    }
    small_gemm<T>(out, width, {weights, keys, 1}, v, width, n, width, seen, false);
    unpack_rows(a.out + at, h.d, out, width, n, h.width);
  }
}

}  // namespace

void CpuKernels::attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
                           const Segments& queries, const Segments& keys, const AttentionShape& shape) {
  with_type(q, [&]<class T>(T) {
    const ForwardArguments<T> a{
        out.data<T>(), lse.data<T>(), q.data<T>(),    k.data<T>(),
        v.data<T>(),   q.rows(),      T(shape.scale), WeightDropout(shape.dropout, q.rows(), keys.longest())};
    for_each_head<T>(queries, keys, q.cols(), shape,
                     [&](const Head& h, Scratch<T>& scratch) { forward_head(a, h, scratch); });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
