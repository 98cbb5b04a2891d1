// out = a + b;  out = a * factor;  rounding to bf16
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/map.h"
#include "gyre/core/cuda/rounding.h"

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

__global__ void round_kernel(bfloat16* to, const float* from, int64_t n, bool aligned) {
  constexpr int kN = kPackSize<bfloat16>;
  const int64_t first = first_of_thread<bfloat16>();
  const int count = count_in_pack<bfloat16>(first, n);
  if (count == 0) return;
  float numbers[kN];
  load_numbers(numbers, from + first, count, aligned);
  store_pack(to + first, numbers, count, aligned);
}

}  // namespace

void round_to_bf16(const Context& context, const Tensor& out, const Tensor& x) {
  launch(round_kernel, dim3(map_blocks<bfloat16>(x.size())), dim3(kMapThreads), 0, context.stream(),
         out.data<bfloat16>(), x.data<float>(), x.size(), all_aligned(out, x));
}

void CudaKernels::round_to_bf16(const Tensor& out, const Tensor& x) { cuda::round_to_bf16(context_, out, x); }

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
