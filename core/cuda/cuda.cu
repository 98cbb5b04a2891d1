// Implements the interface of core/hardware/cuda.h.
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/runtime/gpus.h"
#include "gyre/core/hardware/cuda.h"

namespace gyre {

bool has_cuda() { return true; }

std::string cuda_description() {
  const std::string toolkit = concat("CUDA ", cuda::version_text(CUDART_VERSION));
  if (const std::string missing = cuda::missing_requirement(); !missing.empty()) return concat(toolkit, ", ", missing);
  int driver = 0;
  cuda::check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  std::string text = concat(toolkit, ", driver for ", cuda::version_text(driver));
  for (int i = 0; i < cuda::gpu_count(); ++i) text += concat("; cuda:", i, " ", cuda::gpu_text(i));
  return text;
}

int cuda_devices() {
  int usable = 0;
  for (int i = 0; i < cuda::gpu_count(); ++i) usable += cuda::missing_requirement(i).empty();
  return usable;
}

Kernels& cuda_kernels(int index) { return cuda::CudaKernels(cuda::Context::of(index), false).with_tf32(false); }

Kernels& cuda::CudaKernels::with_tf32(bool allowed) {
  static auto* exact = new CudaKernels(context_, false);  // one GPU per process; never destroyed
  static auto* rounding = new CudaKernels(context_, true);
  return allowed ? *rounding : *exact;
}

std::shared_ptr<void> cuda_allocate(int index, size_t bytes) { return cuda::Context::of(index).allocate(bytes); }

void cuda_zero(int index, void* data, size_t bytes) {
  const cuda::Context& context = cuda::Context::of(index);
  cuda::check(cudaMemsetAsync(data, 0, bytes, context.stream()), "cudaMemsetAsync");
}

// A copy from or to CPU memory is complete on return, so that the CPU memory may be reused.
void cuda_copy(void* to, Device to_device, const void* from, Device from_device, size_t bytes) {
  const bool to_gpu = to_device.kind == Device::Kind::cuda, from_gpu = from_device.kind == Device::Kind::cuda;
  require(to_gpu || from_gpu, "[cuda] expected a copy from or to a GPU, got one from the CPU to the CPU");
  if (to_gpu && from_gpu) cuda::Context::of(from_device.index);  // throws for a second GPU
  cuda::Context& context = cuda::Context::of(to_gpu ? to_device.index : from_device.index);
  const auto kind = !to_gpu ? cudaMemcpyDeviceToHost : from_gpu ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
  cuda::check(cudaMemcpyAsync(to, from, bytes, kind, context.stream()), "cudaMemcpyAsync");
  if (!to_gpu || !from_gpu) context.synchronize();
}

void cuda_synchronize(int index) { cuda::Context::of(index).synchronize(); }

MemoryStats cuda_memory_stats(int index) { return cuda::Context::of(index).memory_stats(); }

namespace cuda {

std::string CudaKernels::name() const { return concat("cuda (", context_.name(), ")"); }

}  // namespace cuda
}  // namespace gyre
