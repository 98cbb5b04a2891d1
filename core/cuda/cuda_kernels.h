// The CUDA backend: one object per GPU, one file per kernel family, as in core/cpu.
#pragma once

#include "gyre/core/cuda/dispatch.h"
#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/cuda/runtime/launch.h"
#include "gyre/core/kernels/gpu_kernels.h"

namespace gyre::cuda {

class CudaKernels final : public GpuKernels {
 public:
  CudaKernels(Context& context, bool tf32) : context_(context), tf32_(tf32) {}

  std::string name() const override;
  Device device() const override { return {Device::Kind::cuda, context_.index()}; }
  bool has_bf16() const override { return true; }
  Kernels& with_tf32(bool allowed) override;

#define GYRE_KERNEL override
#define GYRE_CPU_KERNEL \
  override { no_kernel(__func__); }
#include "gyre/core/kernels/all_kernels.inc"

 private:
  Context& context_;
  const bool tf32_;
};

}  // namespace gyre::cuda
