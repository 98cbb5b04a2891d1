#include "gyre/core/virtual_gpu/virtual_kernels.h"

#include <utility>

#include "gyre/core/virtual_gpu/report.h"

namespace gyre {
namespace {

std::function<void(const GpuWork&)>& listener() {
  static std::function<void(const GpuWork&)> current;
  return current;
}

}  // namespace

GpuWorkScope::GpuWorkScope(std::function<void(const GpuWork&)> listener_of_scope) {
  require(!listener(), "[virtual GPU] expected one listener at a time");
  listener() = std::move(listener_of_scope);
}

GpuWorkScope::~GpuWorkScope() { listener() = nullptr; }

Kernels& virtual_kernels() {
  static virtual_gpu::VirtualKernels kernels(false);
  return kernels;
}

namespace virtual_gpu {

Kernels& VirtualKernels::with_tf32(bool allowed) {
  static VirtualKernels rounding(true);
  return allowed ? rounding : virtual_kernels();
}

void report(const GpuWork& work) {
  if (listener()) listener()(work);
}

}  // namespace virtual_gpu
}  // namespace gyre
