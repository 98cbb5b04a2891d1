// A GPU without memory and without arithmetic. Tensors on it have shapes but no elements, and its kernels report the
// work that core/cuda queues for the same call. A training step on it takes milliseconds and yields the work and the
// memory of the same step on a real GPU, of which gyre plan and the profiles derive predictions.
//
// The kernels follow core/cuda by hand: whoever changes the launches or the passes over memory of a kernel there
// changes its method in this folder too. tests/cuda_emulation compares the launches of a training step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/memory.h"

namespace gyre {

// The index of a real GPU is never negative.
inline constexpr Device kVirtualGpu{Device::Kind::cuda, -1};

// Launches with one purpose within a call of a kernel, a copy of a few numbers to the CPU, or a wait of the host.
struct GpuWork {
  enum class Kind : uint8_t {
    pass,        // limited by memory bandwidth
    product,     // a matrix product of cublasLt
    attention,   // a tensor-core kernel of core/cuda/attention
    arithmetic,  // limited by arithmetic without tensor cores
    readback,    // a copy to the CPU is queued, for which the host may wait later
    wait,        // the host waits for a readback, or for all work queued so far
  };
  std::string_view name;  // the purpose, the same for all calls
  Kind kind = Kind::pass;
  int launches = 1;
  double bytes = 0;                           // read and written in device memory, each element once
  double flops = 0;                           // FLOPs of products and arithmetic, two per multiply-add
  double random_numbers = 0;                  // drawn for dropout
  Precision precision = Precision::fp32;      // precision of a product's operands
  int64_t rows = 0, columns = 0, summed = 0;  // the sizes of a product (rows, summed) x (summed, columns)
  uint64_t readback = 0;                      // the number of a readback; of a wait, 0 for all work
  // Attention: thread blocks, those that fit on a multiprocessor at once, and products of two 64 x 64 tiles.
  double blocks = 0, resident_blocks = 1, tile_products = 0;
};

// Kernels of the virtual GPU.
Kernels& virtual_kernels();

// Passes the work of all calls to `listener` until the end of the scope. Scopes must not overlap.
class GpuWorkScope {
 public:
  explicit GpuWorkScope(std::function<void(const GpuWork&)> listener);
  ~GpuWorkScope();
  GpuWorkScope(const GpuWorkScope&) = delete;
  GpuWorkScope& operator=(const GpuWorkScope&) = delete;
};

// Memory of the virtual GPU: addresses without storage, handed out by the same kind of pool as those of a real GPU
// (core/memory.h). A copy to or from the CPU makes the host wait; one to the CPU gives zeros.
std::shared_ptr<void> virtual_allocate(size_t bytes);
void virtual_zero(size_t bytes);
void virtual_copy(void* to, Device to_device, Device from_device, size_t bytes);
// Queues the copy of a few numbers to the CPU (cuda_read_back). Returns its number, which is never 0.
uint64_t virtual_read_back();
void virtual_wait(uint64_t readback);
MemoryStats virtual_memory_stats();
// Starts with an empty pool again. No tensor may be on the virtual GPU.
void reset_virtual_memory();

}  // namespace gyre
