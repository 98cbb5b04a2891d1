// Packed weights are a layout of the CPU kernels: core/cuda/gemm/packed.cu refuses them too.
#include "gyre/core/error.h"
#include "gyre/core/virtual_gpu/virtual_kernels.h"

namespace gyre::virtual_gpu {
namespace {

[[noreturn]] void refuse() { throw Error("[virtual GPU] products with packed weights are for CPUs"); }

}  // namespace

PackedWeight VirtualKernels::pack_weight(const Tensor& /*w*/, Precision /*precision*/) { refuse(); }

void VirtualKernels::packed_linear(const Tensor& /*y*/, const Tensor& /*x*/, const PackedWeight& /*w*/,
                                   const Tensor& /*bias*/, std::optional<Activation> /*activation*/) {
  refuse();
}

void VirtualKernels::packed_best_tokens(const Tensor& /*values*/, const Tensor& /*columns*/, const Tensor& /*x*/,
                                        const PackedWeight& /*w*/, int64_t /*also*/) {
  refuse();
}

}  // namespace gyre::virtual_gpu
