// The common base of the backends of real and virtual GPUs, because both lack the same kernels.
#pragma once

#include <string_view>

#include "gyre/core/kernels/kernels.h"

namespace gyre {

class GpuKernels : public Kernels {
 protected:
  GpuKernels();
  // The body of the kernels that GPUs lack.
  [[noreturn]] void no_kernel(std::string_view kernel) const;
};

}  // namespace gyre
