// out = a + b;  out = a * factor
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/map.h"

namespace gyre::cuda {
namespace {

template <class C>
struct Sum {
  __device__ C operator()(C a, C b) const { return a + b; }
};

template <class C>
struct Multiple {
  C factor;
  __device__ C operator()(C a) const { return a * factor; }
};

}  // namespace

void CudaKernels::add(const Tensor& out, const Tensor& a, const Tensor& b) {
  dispatch_data_type(out, [&]<class T>(T) { map<T>(context_, out, Sum<Compute<T>>{}, a, b); });
}

void CudaKernels::scale(const Tensor& out, const Tensor& a, double factor) {
  dispatch_data_type(out, [&]<class T>(T) {
    using C = Compute<T>;
    map<T>(context_, out, Multiple<C>{C(factor)}, a);
  });
}

}  // namespace gyre::cuda
