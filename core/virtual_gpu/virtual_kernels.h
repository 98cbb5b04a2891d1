// The kernels of the virtual GPU, one file per kernel family, as in core/cuda.
#pragma once

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"

namespace gyre::virtual_gpu {

class VirtualKernels final : public Kernels {
 public:
  explicit VirtualKernels(bool tf32) : tf32_(tf32) {}

  std::string name() const override { return "virtual GPU"; }
  Device device() const override { return kVirtualGpu; }
  bool has_bf16() const override { return true; }
  Kernels& with_tf32(bool allowed) override;

#define GYRE_KERNEL override
#include "gyre/core/kernels/all_kernels.inc"

 private:
  const bool tf32_;
};

}  // namespace gyre::virtual_gpu
