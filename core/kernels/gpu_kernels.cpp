#include "gyre/core/kernels/gpu_kernels.h"

#include "gyre/core/error.h"
#include "gyre/core/kernels/fused_op.h"

namespace gyre {

// Ops without kernels for GPUs: `gyre plan` predicts, from bytes and launches, that with them no training step that
// uses the op would become 1.3 times as fast.
GpuKernels::GpuKernels() {
  for (const FusedOp op :
       {FusedOp::segment_mean, FusedOp::head_dot, FusedOp::head_divide, FusedOp::squared_error, FusedOp::margin_loss})
    set_has(op, false);
}

void GpuKernels::no_kernel(std::string_view kernel) const {
  throw Error("[", kernel, "] this kernel is for CPUs: ", name(), " does not have it");
}

}  // namespace gyre
