// Stubs of the CUDA interface for builds without CUDA. -DGYRE_CUDA=ON compiles core/cuda instead.
#include "gyre/core/hardware/cuda.h"

namespace gyre {
namespace {

[[noreturn]] void refuse() {
  throw UsageError("[cuda] this gyre was built without CUDA: configure with cmake -DGYRE_CUDA=ON, or run 'make cuda'");
}

}  // namespace

bool has_cuda() { return false; }
std::string cuda_description() { return "not built in"; }
int cuda_devices() { return 0; }
Kernels& cuda_kernels(int) { refuse(); }
std::shared_ptr<void> cuda_allocate(int, size_t) { refuse(); }
void cuda_zero(int, void*, size_t) { refuse(); }
void cuda_copy(void*, Device, const void*, Device, size_t) { refuse(); }
std::unique_ptr<CudaReadback> cuda_read_back(int, const void*, size_t) { refuse(); }
void cuda_synchronize(int) { refuse(); }
std::function<std::function<double()>()> cuda_clock(int) { refuse(); }
MemoryStats cuda_memory_stats(int) { refuse(); }
double measure_cuda_products(int, Precision) { refuse(); }
double measure_cuda_bandwidth(int) { refuse(); }
std::string cuda_uuid(int) { refuse(); }
std::string nccl_problem() { refuse(); }
std::string nccl_version() { refuse(); }
NcclId make_nccl_id() { refuse(); }
std::unique_ptr<GpuCollectives> make_gpu_collectives(int, const NcclId&, int, int) { refuse(); }

}  // namespace gyre
