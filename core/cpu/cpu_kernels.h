// The CPU backend. Each file in core/cpu is compiled once per instruction set (cpu_levels in CMakeLists.txt), into a
// separate namespace (GYRE_CPU_NAMESPACE). core/kernels/kernels.cpp selects one at run time.
#pragma once

#include "gyre/core/kernels/kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

class CpuKernels final : public Kernels {
 public:
  std::string name() const override;
  Device device() const override { return {}; }
  bool has_bf16() const override;
  Kernels& with_tf32(bool) override { return *this; }  // precision_on() rejects tf32 on the CPU

#define GYRE_KERNEL override
#define GYRE_CPU_KERNEL override
#include "gyre/core/kernels/all_kernels.inc"
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
