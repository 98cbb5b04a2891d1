// Packed weights are a layout of the CPU kernels; cublasLt reads weights as they are.
#include "gyre/core/cuda/cuda_kernels.h"

namespace gyre::cuda {
namespace {

[[noreturn]] void refuse() { throw Error("[cuda kernels] products with packed weights are for CPUs"); }

}  // namespace

PackedWeight CudaKernels::pack_weight(const Tensor& /*w*/, Precision /*precision*/) { refuse(); }

void CudaKernels::packed_linear(const Tensor& /*y*/, const Tensor& /*x*/, const PackedWeight& /*w*/,
                                const Tensor& /*bias*/, std::optional<Activation> /*activation*/) {
  refuse();
}

void CudaKernels::packed_best_tokens(const Tensor& /*values*/, const Tensor& /*columns*/, const Tensor& /*x*/,
                                     const PackedWeight& /*w*/, int64_t /*also*/) {
  refuse();
}

}  // namespace gyre::cuda
