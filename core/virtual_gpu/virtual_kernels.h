// The kernels of the virtual GPU, one file per kernel family, as in core/cuda.
#pragma once

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"

namespace gyre::virtual_gpu {

class VirtualKernels final : public Kernels {
 public:
  std::string name() const override { return "virtual GPU"; }
  Device device() const override { return kVirtualGpu; }
  bool has_bf16() const override { return true; }
  void set_tf32(bool allowed) override { tf32_ = allowed; }

#define GYRE_KERNEL override
#include "gyre/core/kernels/all_kernels.inc"

 private:
  bool tf32_ = false;
};

}  // namespace gyre::virtual_gpu
