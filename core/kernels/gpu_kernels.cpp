#include "gyre/core/kernels/gpu_kernels.h"

#include "gyre/core/error.h"

namespace gyre {

GpuKernels::GpuKernels() {
  for (FusedOp* op : fused_ops()) op->has_kernels = op->gpus_have_kernels;
}

void GpuKernels::no_kernel(std::string_view kernel) const {
  throw Error("[", kernel, "] this kernel is for CPUs: ", name(), " does not have it");
}

}  // namespace gyre
