// Scaled dot-product attention over packed segments, backward. The weights are computed again from the saved lse.
//   p_ij = exp(scale q_i . k_j - lse_i), m_ij the dropout factor (1 without):
//   dv_j = sum_i m_ij p_ij dout_i;  dp_ij = m_ij dout_i . v_j;  D_i = sum_j p_ij dp_ij = dout_i . out_i
//   ds_ij = scale p_ij (dp_ij - D_i);  dq_i = sum_j ds_ij k_j;  dk_j = sum_i ds_ij q_i
#include <cmath>

#include "core/cpu/attention_head.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/parallel.h"
#include "core/cpu/vector_math.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class T>
struct BackwardArguments {
  T *dq, *dk, *dv;  // each may be null
  const T *dout, *q, *k, *v, *out, *lse;
  int64_t lse_stride;
  T scale;
  WeightDropout dropout;
};

// The head's rows, packed.
template <class T>
struct PackedHead {
  int64_t width, keys;  // padded
  T *kt, *vt, *k, *dk, *dv, *weights, *dweights, *q, *dout, *dq;

  PackedHead(const Head& h, Scratch<T>& s) : width(round_up(h.width, kLanes<T>)), keys(round_up(h.keys, kLanes<T>)) {
    kt = s.take(0, h.width * keys);
    vt = s.take(1, h.width * keys);
    k = s.take(2, h.keys * width);
    dk = s.take(3, h.keys * width);
    dv = s.take(4, h.keys * width);
    weights = s.take(5, kQueryBlock * keys);
    dweights = s.take(6, kQueryBlock * keys);
    q = s.take(7, kQueryBlock * width);
    dout = s.take(8, kQueryBlock * width);
    dq = s.take(9, kQueryBlock * width);
  }
};

// p and dp of one query become m p (for dv) and ds (for dq, dk).
template <class T>
void backward_row(T* p, T* dp, int64_t visible, int64_t seen, T lse, T delta, const BackwardArguments<T>& a,
                  int64_t head, int64_t row) {
  const T scale = a.scale;
  if (a.dropout.active()) a.dropout.apply(dp, seen, head, row);
#pragma omp simd
  for (int64_t j = 0; j < visible; ++j) {
    const T weight = exponential(p[j] * scale - lse);
    p[j] = weight;
    dp[j] = scale * weight * (dp[j] - delta);
  }
  std::fill(p + visible, p + seen, T(0));
  std::fill(dp + visible, dp + seen, T(0));
  if (a.dropout.active()) a.dropout.apply(p, seen, head, row);
}

template <class T>
void backward_block(const BackwardArguments<T>& a, const Head& h, const PackedHead<T>& s, int64_t begin) {
  const int64_t n = std::min(kQueryBlock, h.queries - begin), row = h.first_query + begin;
  const int64_t seen = h.visible(begin + n - 1), padded = round_up(seen, kLanes<T>);
  const int64_t at = row * h.d + h.index * h.width;
  pack_rows(s.q, s.width, a.q + at, h.d, n, h.width);
  pack_rows(s.dout, s.width, a.dout + at, h.d, n, h.width);
  small_gemm<T>(s.weights, s.keys, {s.q, s.width, 1}, s.kt, s.keys, n, padded, h.width, false);
  small_gemm<T>(s.dweights, s.keys, {s.dout, s.width, 1}, s.vt, s.keys, n, padded, h.width, false);
  for (int64_t i = 0; i < n; ++i) {
    T delta = 0;
    const T *g = s.dout + i * s.width, *o = a.out + at + i * h.d;
#pragma omp simd reduction(+ : delta)
    for (int64_t j = 0; j < h.width; ++j) delta += g[j] * o[j];
    backward_row(s.weights + i * s.keys, s.dweights + i * s.keys, h.visible(begin + i), seen,
                 a.lse[h.index * a.lse_stride + row + i], delta, a, h.index, row + i);
  }
  small_gemm<T>(s.dv, s.width, {s.weights, 1, s.keys}, s.dout, s.width, seen, s.width, n, true);
  small_gemm<T>(s.dk, s.width, {s.dweights, 1, s.keys}, s.q, s.width, seen, s.width, n, true);
  if (!a.dq) return;
  small_gemm<T>(s.dq, s.width, {s.dweights, s.keys, 1}, s.k, s.width, n, s.width, seen, false);
  unpack_rows(a.dq + at, h.d, s.dq, s.width, n, h.width);
}

template <class T>
void backward_head(const BackwardArguments<T>& a, const Head& h, Scratch<T>& scratch) {
  const PackedHead<T> s(h, scratch);
  const int64_t at = h.first_key * h.d + h.index * h.width;
  pack_transposed(s.kt, s.keys, a.k + at, h.d, h.keys, h.width);
  pack_transposed(s.vt, s.keys, a.v + at, h.d, h.keys, h.width);
  pack_rows(s.k, s.width, a.k + at, h.d, h.keys, h.width);
  std::fill_n(s.dk, h.keys * s.width, T(0));
  std::fill_n(s.dv, h.keys * s.width, T(0));
  for (int64_t begin = 0; begin < h.queries; begin += kQueryBlock) backward_block(a, h, s, begin);
  if (a.dk) unpack_rows(a.dk + at, h.d, s.dk, s.width, h.keys, h.width);
  if (a.dv) unpack_rows(a.dv + at, h.d, s.dv, s.width, h.keys, h.width);
}

}  // namespace

void CpuKernels::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                    const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                                    const Tensor& lse, const Segments& queries, const Segments& keys,
                                    const AttentionShape& shape) {
  with_type(q, [&]<class T>(T) {
    const BackwardArguments<T> a{data_or_null<T>(dq), data_or_null<T>(dk),
                                 data_or_null<T>(dv), dout.data<T>(),
                                 q.data<T>(),         k.data<T>(),
                                 v.data<T>(),         out.data<T>(),
                                 lse.data<T>(),       q.rows(),
                                 T(shape.scale),      WeightDropout(shape.dropout, q.rows(), keys.longest())};
    for_each_head<T>(queries, keys, q.cols(), shape,
                     [&](const Head& h, Scratch<T>& scratch) { backward_head(a, h, scratch); });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
