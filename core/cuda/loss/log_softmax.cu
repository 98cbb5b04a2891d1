// out = x - log(sum(exp(x))), row by row
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/loss/logit_rows.h"

namespace gyre::cuda {
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
