// Label-smoothed cross-entropy. For each row of logits x: lse = log sum_j exp(x_j),
//   loss = (1 - eps) (lse - x_t) + eps (lse - mean(x)),   dx_j = dloss (exp(x_j - lse) - eps / v - (1 - eps) [j = t])
// One block per row. For the gradient in place it keeps the row in shared memory.
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/logit_rows.h"

namespace gyre::cuda {
namespace {

// The longest row that is kept in shared memory. Two blocks run side by side on a multiprocessor with twice as much,
// and GPUs of compute capability 8.0 to 9.0 have at least this much per block.
constexpr size_t kKeptBytes = 96 << 10;

struct Terms {
  double loss, nll, counted, correct;
};

// The terms of a row, from its totals.
template <class T, class C>
__device__ Terms terms_of(const Totals<C>& totals, C lse, const T* x, int64_t target, int64_t v, double smoothing) {
  if (target < 0) return {0, 0, 0, 0};
  const C target_logit = load(x + target);
  const double nll = double(lse) - double(target_logit);
  const double uniform = smoothing > 0 ? double(lse) - double(totals.sum) / double(v) : 0;
  return {(1 - smoothing) * nll + smoothing * uniform, nll, 1, target_logit == totals.largest ? 1.0 : 0.0};
}

// lse may be null. stride: from row to row.
template <class T, class C = Compute<T>>
__global__ void __launch_bounds__(kMaxRowThreads)
    forward_rows(Terms* terms, C* lse, const T* logits, const int32_t* targets, int64_t v, int64_t stride,
                 double smoothing) {
  __shared__ C scratch[kWarp];
  const int64_t row = blockIdx.x;
  const T* x = logits + row * stride;
  Totals<C> totals;
  visit_row(x, v, totals);
  totals.add_over_block(scratch);
  if (threadIdx.x != 0) return;
  const C l = totals.log_sum_exp();
  if (lse) lse[row] = l;
  terms[row] = terms_of(totals, l, x, targets[row], v, smoothing);
}

// Runs as one block, so that the order of the sum is fixed.
__global__ void add_terms(double* sums, const Terms* terms, int64_t n) {
  __shared__ double scratch[kWarp];
  Terms t{0, 0, 0, 0};
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    const Terms row = terms[i];
    t = {t.loss + row.loss, t.nll + row.nll, t.counted + row.counted, t.correct + row.correct};
  }
  const double loss = block_sum(t.loss, scratch), nll = block_sum(t.nll, scratch);
  const double counted = block_sum(t.counted, scratch), correct = block_sum(t.correct, scratch);
  if (threadIdx.x != 0) return;
  sums[0] += loss;
  sums[1] += nll;
  sums[2] += counted;
  sums[3] += correct;
}

// dx_j = scale * exp(x_j - lse) - uniform - target_term [j = target]
template <class C>
struct GradientTerms {
  C scale, uniform, target_term;
};
template <class C>
GradientTerms<C> gradient_terms(int64_t v, double smoothing, double dloss) {
  return {C(dloss), C(dloss * smoothing / double(v)), C(dloss * (1 - smoothing))};
}

// Computes dx, or zeros if target < 0. dx may be x, because each thread reads exactly the elements that it writes.
template <class T, class C = Compute<T>>
struct LogitGradient {
  T* dx;
  int64_t target;
  C lse;
  GradientTerms<C> terms;

  template <int N>
  __device__ void operator()(int64_t first, const C (&x)[N]) const {
    C d[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const C gradient = terms.scale * std::exp(x[i] - lse) - terms.uniform;
      d[i] = target < 0 ? C(0) : first + i == target ? gradient - terms.target_term : gradient;
    }
    store_visited(dx + first, d);
  }
};

template <class T, class C = Compute<T>>
__global__ void __launch_bounds__(kMaxRowThreads)
    backward_rows(T* dlogits, const T* logits, const int32_t* targets, const C* lse, int64_t v, int64_t stride,
                  GradientTerms<C> terms) {
  const int64_t row = blockIdx.x;
  const LogitGradient<T> gradient{dlogits + row * stride, targets[row], lse[row], terms};
  visit_row(logits + row * stride, gradient.dx, v, gradient);
}

// Adds up a row and copies it to shared memory, from which the same thread reads the same elements again.
template <class T, class C = Compute<T>>
struct KeepTotals {
  Totals<C>& totals;
  T* kept;

  template <int N>
  __device__ void operator()(int64_t first, const C (&x)[N]) const {
    totals(first, x);
    store_visited(kept + first, x);
  }
};

// Rows start at multiples of 16 bytes.
template <class T, class C = Compute<T>>
__global__ void __launch_bounds__(kMaxRowThreads)
    replace_rows(Terms* terms, T* logits, const int32_t* targets, int64_t v, int64_t stride, double smoothing,
                 GradientTerms<C> gradient_terms) {
  __shared__ C scratch[kWarp];
  T* kept = shared_memory<T>();
  const int64_t row = blockIdx.x, target = targets[row];
  T* x = logits + row * stride;
  Totals<C> totals;
  const KeepTotals<T> keep{totals, kept};
  visit_row(x, v, keep);
  totals.add_over_block(scratch);
  const C lse = totals.log_sum_exp();
  if (threadIdx.x == 0) terms[row] = terms_of(totals, lse, kept, target, v, smoothing);
  const LogitGradient<T> gradient{x, target, lse, gradient_terms};
  visit_row(kept, x, v, gradient);
}

}  // namespace

void CudaKernels::cross_entropy(const Tensor& sums, const Tensor& lse, const Tensor& logits, const Tensor& targets,
                                int64_t v, double smoothing) {
  const int64_t n = logits.rows();
  if (n == 0) return;
  const Tensor scratch = context_.empty({n, 4}, DType::f64);
  auto* terms = static_cast<Terms*>(scratch.raw());
  dispatch_data_type(logits, [&]<class T>(T) {
    launch(forward_rows<T>, dim3(unsigned(n)), dim3(threads_for<T>(v)), 0, context_.stream(), terms,
           data_or_null<Compute<T>>(lse), logits.data<T>(), context_.ids(targets), v, logits.cols(), smoothing);
  });
  launch(add_terms, dim3(1), dim3(256), 0, context_.stream(), sums.data<double>(), terms, n);
}

void CudaKernels::cross_entropy_backward(const Tensor& dlogits, const Tensor& logits, const Tensor& targets,
                                         const Tensor& lse, int64_t v, double smoothing, double dloss) {
  dispatch_data_type(logits, [&]<class T>(T) {
    using C = Compute<T>;
    launch(backward_rows<T>, dim3(unsigned(logits.rows())), dim3(threads_for<T>(v)), 0, context_.stream(),
           dlogits.data<T>(), logits.data<T>(), context_.ids(targets), lse.data<C>(), v, logits.cols(),
           gradient_terms<C>(v, smoothing, dloss));
  });
}

// Rows that do not fit into shared memory are read twice.
void CudaKernels::cross_entropy_in_place(const Tensor& sums, const Tensor& logits, const Tensor& targets, int64_t v,
                                         double smoothing) {
  const int64_t n = logits.rows();
  if (n == 0) return;
  const size_t row_bytes = size_t(v) * dtype_bytes(logits.dtype());
  if (row_bytes > kKeptBytes || size_t(logits.cols()) * dtype_bytes(logits.dtype()) % 16 != 0) {
    const Tensor lse = context_.empty({n}, statistics_dtype(logits.dtype()));
    cross_entropy(sums, lse, logits, targets, v, smoothing);
    return cross_entropy_backward(logits, logits, targets, lse, v, smoothing, 1);
  }
  const Tensor scratch = context_.empty({n, 4}, DType::f64);
  auto* terms = static_cast<Terms*>(scratch.raw());
  dispatch_data_type(logits, [&]<class T>(T) {
    launch(replace_rows<T>, dim3(unsigned(n)), dim3(threads_for<T>(v)), row_bytes, context_.stream(), terms,
           logits.data<T>(), context_.ids(targets), v, logits.cols(), smoothing,
           gradient_terms<Compute<T>>(v, smoothing, 1));
  });
  launch(add_terms, dim3(1), dim3(256), 0, context_.stream(), sums.data<double>(), terms, n);
}

}  // namespace gyre::cuda
