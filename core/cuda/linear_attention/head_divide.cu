// y = a / (b + epsilon), one b per head;  da = dy / (b + epsilon);  db = -(dy . a) / (b + epsilon)^2
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/linear_attention/head_rows.h"

namespace gyre::cuda {
namespace {

template <class D, class T = Compute<D>>
__global__ void quotients_kernel(int64_t jobs, D* y, const D* a, const T* b, int width, T epsilon) {
  const WarpHead h;
  if (h.job >= jobs) return;
  const T inverse = 1 / (b[h.job] + epsilon);
  for (int f = h.lane; f < width; f += kWarp) store(y + h.job * width + f, load(a + h.job * width + f) * inverse);
}

template <class D, class T = Compute<D>>
__global__ void backward_kernel(int64_t jobs, D* da, T* db, const D* dy, const D* a, const T* b, int width, T epsilon) {
  const WarpHead h;
  if (h.job >= jobs) return;
  const T inverse = 1 / (b[h.job] + epsilon);
  T dot = 0;
  for (int f = h.lane; f < width; f += kWarp) {
    const T g = load(dy + h.job * width + f);
    if (da) store(da + h.job * width + f, g * inverse);
    dot += g * load(a + h.job * width + f);
  }
  dot = warp_sum(dot);
  if (db && h.lane == 0) db[h.job] = -dot * inverse * inverse;
}

}  // namespace

void CudaKernels::head_divide(const Tensor& y, const Tensor& a, const Tensor& b, double epsilon) {
  dispatch_data_type(a, [&]<class D>(D) {
    using T = Compute<D>;
    launch_heads(context_, quotients_kernel<D>, b.size(), y.data<D>(), a.data<D>(), b.data<T>(),
                 int(a.cols() / b.cols()), T(epsilon));
  });
}

void CudaKernels::head_divide_backward(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& a,
                                       const Tensor& b, double epsilon) {
  dispatch_data_type(a, [&]<class D>(D) {
    using T = Compute<D>;
    launch_heads(context_, backward_kernel<D>, b.size(), data_or_null<D>(da), data_or_null<T>(db), dy.data<D>(),
                 a.data<D>(), b.data<T>(), int(a.cols() / b.cols()), T(epsilon));
  });
}

}  // namespace gyre::cuda
