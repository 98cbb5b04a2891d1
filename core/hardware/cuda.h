// Interface of the CUDA backend to the rest of the program. Implemented by core/cuda in builds with cmake
// -DGYRE_CUDA=ON, otherwise by core/hardware/no_cuda.cpp, where all functions but the first three throw UsageError.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/memory.h"

namespace gyre {

bool has_cuda();                 // true if this build contains the backend
std::string cuda_description();  // human-readable: toolkit, driver and GPUs, or the missing requirement
int cuda_devices();              // number of usable GPUs; 0 if a requirement is missing

// The GPU of a rank, by its number among the ranks of its machine. Launchers can let every rank see one GPU of its own,
// which then has number 0 in each (srun --gpus-per-task=1, CUDA_VISIBLE_DEVICES).
inline int gpu_of_rank(int local_rank, int devices) { return devices > 0 ? local_rank % devices : local_rank; }

// The kernels of GPU `index`, created at the first call. Throws UsageError if there is no backend, no driver or no such
// GPU, if the driver or the GPU is too old, or if the kernels were compiled for other GPUs.
Kernels& cuda_kernels(int index);

// Memory of GPU `index`. Work on the GPU is asynchronous and runs in the order of the calls. Copies to the CPU wait for
// all work queued before them.
std::shared_ptr<void> cuda_allocate(int index, size_t bytes);
void cuda_zero(int index, void* data, size_t bytes);
void cuda_copy(void* to, Device to_device, const void* from, Device from_device, size_t bytes);
void cuda_synchronize(int index);  // waits for all queued work; throws its errors
// A clock of the GPU, which begins when its queue is empty. Each call of the clock asks for the time at which the work
// queued so far is done. The function that it returns waits for that work, and returns steady_seconds() of then, exact
// to a microsecond in the first ten seconds of the clock. For the thread that queues kernels.
std::function<std::function<double()>()> cuda_clock(int index);
MemoryStats cuda_memory_stats(int index);

// A copy of GPU memory to the CPU that has been queued.
class CudaReadback {
 public:
  virtual ~CudaReadback() = default;
  // Waits for the copy, but not for work queued after it. The memory is valid until the object is destroyed.
  virtual const void* wait() = 0;
};
constexpr size_t kCudaReadbackBytes = 256;  // the most that one copy can hold
std::unique_ptr<CudaReadback> cuda_read_back(int index, const void* from, size_t bytes);

// Measured limits of the GPU, as in core/hardware/machine_limits.h: FLOP/s of large matrix products, with tensor cores
// for bf16 and tf32 and without for fp32; bytes/s of a copy.
double measure_cuda_products(int index, Precision precision);
double measure_cuda_bandwidth(int index);

// Communication between the GPUs of several processes by NCCL, with one GPU per process. The NCCL library is loaded at
// the first use, so that it is not needed on a single GPU.
std::string cuda_uuid(int index);  // identity of the GPU; the same in every process
std::string nccl_problem();        // human-readable reason why NCCL cannot be used; empty if it can
std::string nccl_version();        // such as "2.27.3"; requires that NCCL can be used

using NcclId = std::array<std::byte, 128>;
NcclId make_nccl_id();  // called by one process, which sends the id to all others

// Collectives of tensors on GPUs. They are queued, in the order of the calls, and run beside the kernels of this
// process: those between begin() and finish() run after the work queued before begin(), and work queued after finish()
// runs after them. In between, the tensors must stay allocated. All processes must make the same calls in the same
// order.
class GpuCollectives {
 public:
  virtual ~GpuCollectives() = default;
  virtual void begin() = 0;
  virtual void finish() = 0;
  // Whether the collectives are done that were queued before the last finish(); false between begin() and finish().
  // Throws Error if one that is not done failed, for example because the network or a peer did. May be called on any
  // thread.
  virtual bool are_done() const = 0;

  // Sums f32 or f64 values in place. All processes get the same bits.
  virtual void all_reduce(const Tensor& values) = 0;
  // Sends send[r] to process r, and receives receive[r], of any dtype, from it. Pieces may be empty.
  virtual void all_to_all(const std::vector<Tensor>& send, const std::vector<Tensor>& receive) = 0;
  // Receives pieces[r] from process r.
  virtual void all_gather(const std::vector<Tensor>& pieces) = 0;
  // Not a collective: out(n) = the sum of the rows of parts(count, n), in the order of a tree whose left child has the
  // largest power of two of rows that is less than all (tree_sum() of train/parallel/tree_reduction.h). Both are f32 or
  // bf16; sums are in fp32.
  virtual void add_parts(const Tensor& out, const Tensor& parts) = 0;
};
// Collective: all `size` processes call it with the same id.
std::unique_ptr<GpuCollectives> make_gpu_collectives(int index, const NcclId& id, int rank, int size);

}  // namespace gyre
