// Label-smoothed cross-entropy. For each row of logits x: lse = log sum_j exp(x_j),
//   loss = (1 - eps) (lse - x_t) + eps (lse - mean(x)),   dx_j = dloss (exp(x_j - lse) - eps / v - (1 - eps) [j = t])
// One block per row, which it reads only once (online softmax): each thread keeps its largest logit so far, and
// rescales its sum of exp(x_j - largest) at each new maximum.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/vectors.h"

namespace gyre::cuda {
namespace {

constexpr int kMaxThreads = 1024;

// Number of threads per block, so that each thread loads a few times.
template <class T>
unsigned threads_for(int64_t v) {
  return unsigned(std::clamp<int64_t>(divide_up(v, 4 * kPackSize<T> * kWarp) * kWarp, kWarp, kMaxThreads));
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

struct Terms {
  double loss, nll, counted, correct;
};

template <class T, class C = Compute<T>>
__global__ void __launch_bounds__(kMaxThreads)
    forward_rows(Terms* terms, C* lse, const T* logits, const int32_t* targets, int64_t v, double smoothing) {
  __shared__ C scratch[kWarp];
  const int64_t row = blockIdx.x;
  const T* x = logits + row * v;
  Totals<C> totals;
  visit_row(x, v, totals);
  totals.add_over_block(scratch);
  if (threadIdx.x != 0) return;
  const C l = totals.log_sum_exp();
  lse[row] = l;
  const int64_t target = targets[row];
  if (target < 0) {
    terms[row] = {0, 0, 0, 0};
    return;
  }
  const C target_logit = load(x + target);
  const double nll = double(l) - double(target_logit);
  const double uniform = smoothing > 0 ? double(l) - double(totals.sum) / double(v) : 0;
  terms[row] = {(1 - smoothing) * nll + smoothing * uniform, nll, 1, target_logit == totals.largest ? 1.0 : 0.0};
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

// dx_j = scale * exp(x_j - lse) - uniform - target_term [j = target], or zeros if target < 0. dx may be x, because each
// thread reads exactly the elements that it writes.
template <class G, class C>
struct LogitGradient {
  G* dx;
  int64_t target;
  C lse, scale, uniform, target_term;

  template <int N>
  __device__ void operator()(int64_t first, const C (&x)[N]) const {
    Compute<G> d[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const C gradient = scale * std::exp(x[i] - lse) - uniform;
      d[i] = target < 0 ? C(0) : first + i == target ? gradient - target_term : gradient;
    }
    store_visited(dx + first, d);
  }
};

template <class G, class T, class C = Compute<T>>
__global__ void __launch_bounds__(kMaxThreads)
    backward_rows(G* dlogits, const T* logits, const int32_t* targets, const C* lse, int64_t v, C scale, C uniform,
                  C target_term) {
  const int64_t row = blockIdx.x;
  const LogitGradient<G, C> gradient{dlogits + row * v, targets[row], lse[row], scale, uniform, target_term};
  visit_row(logits + row * v, gradient.dx, v, gradient);
}

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
__global__ void __launch_bounds__(kMaxThreads) log_softmax_rows(T* out, const T* x, int64_t v) {
  __shared__ Compute<T> scratch[kWarp];
  const int64_t row = blockIdx.x;
  Totals<Compute<T>> totals;
  visit_row(x + row * v, v, totals);
  totals.add_over_block(scratch);
  const Subtract<T> subtract{out + row * v, totals.log_sum_exp()};
  visit_row(x + row * v, subtract.out, v, subtract);
}

}  // namespace

void CudaKernels::cross_entropy(const Tensor& sums, const Tensor& lse, const Tensor& logits, const Tensor& targets,
                                double smoothing) {
  const int64_t n = logits.rows(), v = logits.cols();
  if (n == 0) return;
  const Tensor scratch = context_.empty({n, 4}, DType::f64);
  auto* terms = static_cast<Terms*>(scratch.raw());
  dispatch_data_type(logits, [&]<class T>(T) {
    launch(forward_rows<T>, dim3(unsigned(n)), dim3(threads_for<T>(v)), 0, context_.stream(), terms,
           lse.data<Compute<T>>(), logits.data<T>(), context_.ids(targets), v, smoothing);
  });
  launch(add_terms, dim3(1), dim3(256), 0, context_.stream(), sums.data<double>(), terms, n);
}

void CudaKernels::cross_entropy_backward(const Tensor& dlogits, const Tensor& logits, const Tensor& targets,
                                         const Tensor& lse, double smoothing, double dloss) {
  dispatch_data_type(logits, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t n = logits.rows(), v = logits.cols();
    const auto run = [&]<class G>(G* dx) {
      launch(backward_rows<G, T>, dim3(unsigned(n)), dim3(threads_for<T>(v)), 0, context_.stream(), dx,
             logits.data<T>(), context_.ids(targets), lse.data<C>(), v, C(dloss), C(dloss * smoothing / double(v)),
             C(dloss * (1 - smoothing)));
    };
    if constexpr (std::is_same_v<T, float>) {
      if (dlogits.dtype() == DType::bf16) return run(dlogits.data<bfloat16>());
    }
    run(dlogits.data<T>());
  });
}

void CudaKernels::log_softmax(const Tensor& out, const Tensor& x) {
  dispatch_data_type(x, [&]<class T>(T) {
    const int64_t v = x.cols();
    launch(log_softmax_rows<T>, dim3(unsigned(x.rows())), dim3(threads_for<T>(v)), 0, context_.stream(), out.data<T>(),
           x.data<T>(), v);
  });
}

}  // namespace gyre::cuda
