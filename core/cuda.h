// The CUDA backend as the rest of the program sees it: core/cuda where it was built in (cmake -DGYRE_CUDA=ON), else
// core/no_cuda.cpp, in which every call but the first three is an error.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "core/kernels.h"
#include "core/memory.h"

namespace gyre {

bool has_cuda();                 // this build has the backend
std::string cuda_description();  // for a person: toolkit, driver and GPUs, or what is missing
int cuda_devices();              // GPUs that it can use; 0 where something is missing

// The kernels of GPU `index`, made at the first call. A UsageError in one line when there is no backend, no driver, no
// such GPU, or when the driver or the GPU is too old.
Kernels& cuda_kernels(int index);

// Memory of GPU `index`. Work on it is queued in the order of the calls, and returns before it is done; copies to the
// CPU wait for all that was queued before.
std::shared_ptr<void> cuda_allocate(int index, size_t bytes);
void cuda_zero(int index, void* data, size_t bytes);
void cuda_copy(void* to, Device to_device, const void* from, Device from_device, size_t bytes);
void cuda_synchronize(int index);  // waits for all that was queued; reports its errors
MemoryStats cuda_memory_stats(int index);

// Measured limits, as core/machine_limits.h: FLOP/s of large products on the tensor cores (bf16, tf32) or without
// (fp32), bytes/s of a copy.
double measure_cuda_products(int index, Precision precision);
double measure_cuda_bandwidth(int index);

// Sums over the GPUs of several processes, each with a GPU of its own, by NCCL. It is loaded when it is first asked
// for: a program on one GPU does without.
std::string cuda_uuid(int index);  // of the GPU, the same in every process
std::string nccl_problem();        // why NCCL cannot be used, for a person; empty where it can

using NcclId = std::array<std::byte, 128>;
NcclId make_nccl_id();  // by one process, for all that will sum together

class GpuAllReduce {
 public:
  virtual ~GpuAllReduce() = default;
  // In place, in the background, of what the work that is queued so far leaves in `values`, f32 on this GPU. Every
  // process makes the same calls in the same order; all get the same bits.
  virtual void start(const Tensor& values) = 0;
  virtual void finish() = 0;  // work that is queued from here on finds the sums
};
// Collective over the `size` processes that got this id.
std::unique_ptr<GpuAllReduce> make_gpu_all_reduce(int index, const NcclId& id, int rank, int size);

}  // namespace gyre
