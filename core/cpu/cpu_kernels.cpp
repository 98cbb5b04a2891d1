#include "gyre/core/cpu/cpu_kernels.h"

#include "gyre/core/cpu/parallel.h"

#define GYRE_TEXT_OF(x) #x
#define GYRE_TEXT(x) GYRE_TEXT_OF(x)

namespace gyre::GYRE_CPU_NAMESPACE {

std::string CpuKernels::name() const { return GYRE_TEXT(GYRE_CPU_NAMESPACE); }

bool CpuKernels::has_bf16() const { return runs_bf16(); }

Kernels& kernels() {
  static CpuKernels instance;
  return instance;
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
