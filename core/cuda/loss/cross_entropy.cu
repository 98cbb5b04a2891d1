// Cross-entropy has one block per row of logits. For the gradient in place it keeps the row in shared memory.
// R-Drop has one block per pair of rows, x and y, and reads both twice.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/dispatch.h"
#include "gyre/core/cuda/formulas.h"
#include "gyre/core/cuda/vectors.h"
#include "gyre/core/kernels/gpu_blocks.h"

namespace gyre::cuda {

// ---- Rows of logits ------------------------------------------------------------------------------------------------
// Passes over rows of logits, one block per row, which it reads only once (online softmax): each thread keeps its
// largest logit so far, and rescales its sum of exp(x_j - largest) at each new maximum.

constexpr int kMaxRowThreads = 1024;

// Number of threads per block, so that each thread loads a few times.
template <class T>
unsigned threads_for(int64_t v) {
  return unsigned(std::clamp<int64_t>(divide_up(v, 4 * kPackSize<T> * kWarp) * kWarp, kWarp, kMaxRowThreads));
}

// The number of elements of a row before the first address that is a multiple of 16 bytes.
template <class T>
__device__ int64_t count_before_aligned(const T* row) {
  return int64_t((16 - reinterpret_cast<uintptr_t>(row) % 16) % 16 / sizeof(T));
}

// The block calls visit(j, x[j ..]) for all elements of a row: N neighbors at a time from element `before` on, and the
// elements before and after these groups one by one. `aligned`: the groups of x are aligned to 16 bytes.
template <int N, class T, class Visit>
__device__ void visit_row(const T* x, int64_t v, int64_t before, bool aligned, Visit& visit) {
  const int64_t thread = threadIdx.x;
  const int64_t first = before < v ? before : v, groups = (v - first) / N, last = first + groups * N;
  if (thread < first) {
    const Compute<T> one[1] = {load(x + thread)};
    visit(thread, one);
  }
#pragma unroll 4
  for (int64_t g = thread; g < groups; g += blockDim.x) {
    Compute<T> values[N];
    load_numbers(values, x + first + g * N, N, aligned);
    visit(first + g * N, values);
  }
  if (last + thread < v) {
    const Compute<T> one[1] = {load(x + last + thread)};
    visit(last + thread, one);
  }
}
template <class T, class Visit>
__device__ void visit_row(const T* x, int64_t v, Visit& visit) {
  visit_row<kPackSize<T>>(x, v, count_before_aligned(x), true, visit);
}

// Visits a row in groups that are aligned in `out`, for visitors that compute out[j] from x[j]; `out` may be x.
template <class T, class Out, class Visit>
__device__ void visit_row(const T* x, const Out* out, int64_t v, Visit& visit) {
  const int64_t before = count_before_aligned(out);
  visit_row<kPackSize<Out>>(x, v, before, is_aligned(x + before), visit);
}
template <class Out, int N>
__device__ void store_visited(Out* to, const Compute<Out> (&x)[N]) {
  if constexpr (N == 1) {
    store(to, x[0]);
  } else {
    store_pack(to, x, N, true);
  }
}

// Running maximum and sums of a row. `largest` starts at the lowest finite number, because the difference of two
// infinities would be NaN.
template <class C>
struct Totals {
  C largest = std::numeric_limits<C>::lowest(), exponentials = 0, sum = 0;

  template <int N>
  __device__ void operator()(int64_t, const C (&x)[N]) {
    C top = x[0];
#pragma unroll
    for (int i = 1; i < N; ++i) top = x[i] > top ? x[i] : top;
    if (top > largest) {
      exponentials *= std::exp(largest - top);
      largest = top;
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
      exponentials += std::exp(x[i] - largest);
      sum += x[i];
    }
  }

  // Combines the totals of all threads of the block. All threads get the result.
  __device__ void add_over_block(C* scratch) {
    const C all = block_max(largest, scratch);
    exponentials = block_sum(exponentials * std::exp(largest - all), scratch);
    sum = block_sum(sum, scratch);
    largest = all;
  }
  __device__ C log_sum_exp() const { return largest + std::log(exponentials); }
};

namespace {

// lse may be null. stride: from row to row.
template <class T, class C = Compute<T>>
__global__ void __launch_bounds__(kMaxRowThreads)
    forward_rows(RowTerms* terms, C* lse, const T* logits, const int32_t* targets, int64_t v, int64_t stride,
                 CrossEntropyOptions options) {
  __shared__ C scratch[kWarp];
  const int64_t row = blockIdx.x;
  const T* x = logits + row * stride;
  Totals<C> totals;
  visit_row(x, v, totals);
  totals.add_over_block(scratch);
  if (threadIdx.x != 0) return;
  const C l = totals.log_sum_exp();
  if (lse) lse[row] = l;
  terms[row] = row_terms(x, targets[row], l, totals.largest, totals.sum, v, options);
}

// Runs as one block, so that the order of the sum is fixed.
__global__ void add_terms(double* sums, const RowTerms* terms, int64_t n) {
  __shared__ double scratch[kWarp];
  RowTerms t;
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) t += terms[i];
  const double loss = block_sum(t.loss, scratch), nll = block_sum(t.nll, scratch);
  const double counted = block_sum(t.counted, scratch), correct = block_sum(t.correct, scratch);
  if (threadIdx.x != 0) return;
  sums[0] += loss;
  sums[1] += nll;
  sums[2] += counted;
  sums[3] += correct;
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
    const C scale = terms.scale * (1 + terms.z * lse);
    C d[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const C gradient = scale * std::exp(x[i] - lse) - terms.uniform;
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
    replace_rows(RowTerms* terms, T* logits, const int32_t* targets, int64_t v, int64_t stride,
                 CrossEntropyOptions options, GradientTerms<C> gradient_terms) {
  __shared__ C scratch[kWarp];
  T* kept = shared_memory<T>();
  const int64_t row = blockIdx.x, target = targets[row];
  T* x = logits + row * stride;
  Totals<C> totals;
  const KeepTotals<T> keep{totals, kept};
  visit_row(x, v, keep);
  totals.add_over_block(scratch);
  const C lse = totals.log_sum_exp();
  if (threadIdx.x == 0) terms[row] = row_terms(kept, target, lse, totals.largest, totals.sum, v, options);
  const LogitGradient<T> gradient{x, target, lse, gradient_terms};
  visit_row(kept, x, v, gradient);
}

// Loads or stores the elements of row y that belong to a group of row x. The groups are aligned in x only.
template <class T, int N>
__device__ void load_other(Compute<T> (&to)[N], const T* from) {
  if constexpr (N == 1) {
    to[0] = load(from);
  } else {
    load_numbers(to, from, N, is_aligned(from));
  }
}
template <class T, int N>
__device__ void store_other(T* to, const Compute<T> (&x)[N]) {
  if constexpr (N == 1) {
    store(to, x[0]);
  } else {
    store_pack(to, x, N, is_aligned(to));
  }
}

// Running totals of rows x and y, for a visit of x.
template <class T, class C = Compute<T>>
struct PairTotals {
  const T* other;  // y
  Totals<C> x, y;
  C weighted_x = 0, weighted_y = 0;  // sums of exp(x_j - x.largest) (x_j - y_j) and exp(y_j - y.largest) (x_j - y_j)

  template <int N>
  __device__ void operator()(int64_t first, const C (&a)[N]) {
    C b[N];
    load_other(b, other + first);
    const C before_x = x.largest, before_y = y.largest;
    x(first, a);
    y(first, b);
    weighted_x *= std::exp(before_x - x.largest);
    weighted_y *= std::exp(before_y - y.largest);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      weighted_x += std::exp(a[i] - x.largest) * (a[i] - b[i]);
      weighted_y += std::exp(b[i] - y.largest) * (a[i] - b[i]);
    }
  }

  // Combines the totals of all threads of the block. All threads get the result.
  __device__ void add_over_block(C* scratch) {
    const C own_x = x.largest, own_y = y.largest;
    x.add_over_block(scratch);
    y.add_over_block(scratch);
    weighted_x = block_sum(weighted_x * std::exp(own_x - x.largest), scratch);
    weighted_y = block_sum(weighted_y * std::exp(own_y - y.largest), scratch);
  }
};

// Replaces rows x and y by their gradients, or by zeros if target < 0.
template <class T, class C = Compute<T>>
struct PairGradient {
  T *x, *y;
  int64_t target;
  RowPair<C> pair;
  GradientTerms<C> terms;
  C divergence;  // factor of both divergences in the loss

  template <int N>
  __device__ void operator()(int64_t first, const C (&a)[N]) const {
    C b[N], dx[N], dy[N];
    load_other(b, y + first);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const C constant = terms.uniform + (first + i == target ? terms.target_term : C(0));
      pair.gradients(dx[i], dy[i], a[i], b[i], terms.scale, constant, divergence);
      if (target < 0) dx[i] = dy[i] = 0;
    }
    store_visited(x + first, dx);
    store_other(y + first, dy);
  }
};

// n: the number of pairs.
template <class T, class C = Compute<T>>
__global__ void __launch_bounds__(kMaxRowThreads)
    replace_pairs(RowTerms* terms, T* logits, const int32_t* targets, int64_t n, int64_t v, int64_t stride,
                  double smoothing, GradientTerms<C> gradient_terms, double alpha) {
  __shared__ C scratch[kWarp];
  const int64_t row = blockIdx.x, target = targets[row];
  T *const x = logits + row * stride, *const y = x + n * stride;
  PairTotals<T> totals{y, {}, {}};
  visit_row(x, v, totals);
  totals.add_over_block(scratch);
  const RowPair<C> pair(totals.x.log_sum_exp(), totals.y.log_sum_exp(), totals.weighted_x / totals.x.exponentials,
                        totals.weighted_y / totals.y.exponentials);
  if (threadIdx.x == 0) {
    terms[row] = pair.terms(row_terms(x, target, pair.lse_x, totals.x.largest, totals.x.sum, v, {smoothing}),
                            row_terms(y, target, pair.lse_y, totals.y.largest, totals.y.sum, v, {smoothing}), alpha);
  }
  __syncthreads();  // the logits of the target have been read
  const PairGradient<T> gradient{x, y, target, pair, gradient_terms, C(alpha / 4)};
  visit_row(x, x, v, gradient);
}

}  // namespace

void CudaKernels::cross_entropy(const Tensor& sums, const Tensor& lse, const Tensor& logits, const Tensor& targets,
                                int64_t v, const CrossEntropyOptions& options) {
  const int64_t n = logits.rows();
  if (n == 0) return;
  const Tensor scratch = context_.empty({n, 4}, DType::f64);
  auto* terms = static_cast<RowTerms*>(scratch.raw());
  dispatch_data_type(logits, [&]<class T>(T) {
    launch(forward_rows<T>, dim3(unsigned(n)), dim3(threads_for<T>(v)), 0, context_.stream(), terms,
           data_or_null<Compute<T>>(lse), logits.data<T>(), context_.ids(targets), v, logits.cols(), options);
  });
  launch(add_terms, dim3(1), dim3(256), 0, context_.stream(), sums.data<double>(), terms, n);
}

void CudaKernels::cross_entropy_backward(const Tensor& dlogits, const Tensor& logits, const Tensor& targets,
                                         const Tensor& lse, int64_t v, const CrossEntropyOptions& options,
                                         double dloss) {
  dispatch_data_type(logits, [&]<class T>(T) {
    using C = Compute<T>;
    launch(backward_rows<T>, dim3(unsigned(logits.rows())), dim3(threads_for<T>(v)), 0, context_.stream(),
           dlogits.data<T>(), logits.data<T>(), context_.ids(targets), lse.data<C>(), v, logits.cols(),
           gradient_terms<C>(v, options, dloss));
  });
}

// Rows that do not fit into shared memory are read twice.
void CudaKernels::cross_entropy_in_place(const Tensor& sums, const Tensor& logits, const Tensor& targets, int64_t v,
                                         const CrossEntropyOptions& options) {
  const int64_t n = logits.rows();
  if (n == 0) return;
  if (!keeps_row(logits, v)) {
    const Tensor lse = context_.empty({n}, statistics_dtype(logits.dtype()));
    cross_entropy(sums, lse, logits, targets, v, options);
    return cross_entropy_backward(logits, logits, targets, lse, v, options, 1);
  }
  const Tensor scratch = context_.empty({n, 4}, DType::f64);
  auto* terms = static_cast<RowTerms*>(scratch.raw());
  dispatch_data_type(logits, [&]<class T>(T) {
    launch(replace_rows<T>, dim3(unsigned(n)), dim3(threads_for<T>(v)), size_t(v) * sizeof(T), context_.stream(), terms,
           logits.data<T>(), context_.ids(targets), v, logits.cols(), options,
           gradient_terms<Compute<T>>(v, options, 1));
  });
  launch(add_terms, dim3(1), dim3(256), 0, context_.stream(), sums.data<double>(), terms, n);
}

void CudaKernels::r_drop_in_place(const Tensor& sums, const Tensor& logits, const Tensor& targets, int64_t v,
                                  double smoothing, double alpha) {
  const int64_t n = targets.size();
  if (n == 0) return;
  const Tensor scratch = context_.empty({n, 4}, DType::f64);
  auto* terms = static_cast<RowTerms*>(scratch.raw());
  dispatch_data_type(logits, [&]<class T>(T) {
    launch(replace_pairs<T>, dim3(unsigned(n)), dim3(threads_for<T>(v)), 0, context_.stream(), terms, logits.data<T>(),
           context_.ids(targets), n, v, logits.cols(), smoothing, gradient_terms<Compute<T>>(v, {smoothing}, 0.5),
           alpha);
  });
  launch(add_terms, dim3(1), dim3(256), 0, context_.stream(), sums.data<double>(), terms, n);
}

// ---- Log softmax ---------------------------------------------------------------------------------------------------
// out = x - log(sum(exp(x))), row by row

namespace {

// out = x - lse. out may be x: each thread reads exactly the elements that it writes, and the first pass has ended.
template <class T>
struct Subtract {
  T* out;
  Compute<T> lse;

  template <int N>
  __device__ void operator()(int64_t first, const Compute<T> (&x)[N]) const {
    Compute<T> y[N];
#pragma unroll
    for (int i = 0; i < N; ++i) y[i] = x[i] - lse;
    store_visited(out + first, y);
  }
};

template <class T>
__global__ void __launch_bounds__(kMaxRowThreads) log_softmax_rows(T* out, const T* x, int64_t v) {
  __shared__ Compute<T> scratch[kWarp];
  const int64_t row = blockIdx.x;
  Totals<Compute<T>> totals;
  visit_row(x + row * v, v, totals);
  totals.add_over_block(scratch);
  const Subtract<T> subtract{out + row * v, totals.log_sum_exp()};
  visit_row(x + row * v, subtract.out, v, subtract);
}

}  // namespace

void CudaKernels::log_softmax(const Tensor& out, const Tensor& x) {
  dispatch_data_type(x, [&]<class T>(T) {
    const int64_t v = x.cols();
    launch(log_softmax_rows<T>, dim3(unsigned(x.rows())), dim3(threads_for<T>(v)), 0, context_.stream(), out.data<T>(),
           x.data<T>(), v);
  });
}

}  // namespace gyre::cuda
