// y = softmax(x) over the columns, a warp for each row;  dx = y (dy - y . dy)
#include <cmath>

#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/warp_rows.h"

namespace gyre::cuda {
namespace {

template <class D>
__global__ void softmax_kernel(int64_t rows, D* y, const D* x, int width) {
  using T = Compute<D>;
  const WarpRow warp;
  if (warp.row >= rows) return;
  const D* in = x + warp.row * width;
  D* out = y + warp.row * width;
  T largest = load(in), sum = 0;
  for (int f = warp.lane; f < width; f += kWarp) largest = max(largest, load(in + f));
  largest = warp_max(largest);
  for (int f = warp.lane; f < width; f += kWarp) sum += std::exp(load(in + f) - largest);
  const T inverse = 1 / warp_sum(sum);
  for (int f = warp.lane; f < width; f += kWarp) store(out + f, std::exp(load(in + f) - largest) * inverse);
}

template <class D>
__global__ void backward_kernel(int64_t rows, D* dx, const D* dy, const D* y, int width) {
  using T = Compute<D>;
  const WarpRow warp;
  if (warp.row >= rows) return;
  const D *out = y + warp.row * width, *g = dy + warp.row * width;
  T dot = 0;
  for (int f = warp.lane; f < width; f += kWarp) dot += load(out + f) * load(g + f);
  dot = warp_sum(dot);
  for (int f = warp.lane; f < width; f += kWarp) store(dx + warp.row * width + f, load(out + f) * (load(g + f) - dot));
}

}  // namespace

void CudaKernels::softmax(const Tensor& y, const Tensor& x) {
  dispatch_data_type(x, [&]<class D>(D) {
    launch_rows(context_, softmax_kernel<D>, x.rows(), y.data<D>(), x.data<D>(), int(x.cols()));
  });
}

void CudaKernels::softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) {
  dispatch_data_type(y, [&]<class D>(D) {
    launch_rows(context_, backward_kernel<D>, y.rows(), dx.data<D>(), dy.data<D>(), y.data<D>(), int(y.cols()));
  });
}

}  // namespace gyre::cuda
