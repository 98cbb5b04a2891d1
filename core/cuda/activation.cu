// y = act(x);  dx = dy * act'(x)
#include "gyre/core/cuda/activations.h"
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/map.h"

namespace gyre::cuda {
namespace {

template <class A, class C>
struct Forward {
  __device__ C operator()(C x) const { return A::value(x); }
};

template <class A, class C>
struct Backward {
  __device__ C operator()(C dy, C x) const { return dy * A::derivative(x); }
};

}  // namespace

void CudaKernels::activation(const Tensor& y, const Tensor& x, Activation kind) {
  dispatch_data_type(x, [&]<class T>(T) {
    with_activation(kind, [&]<class A>(A) { map<T>(context_, y, Forward<A, Compute<T>>{}, x); });
  });
}

void CudaKernels::activation_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, Activation kind) {
  dispatch_data_type(x, [&]<class T>(T) {
    with_activation(kind, [&]<class A>(A) { map<T>(context_, dx, Backward<A, Compute<T>>{}, dy, x); });
  });
}

}  // namespace gyre::cuda
