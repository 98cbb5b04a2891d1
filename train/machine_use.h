// The use that a run makes of its machine: the limit of matrix products, to which reports relate its FLOP/s, and
// memory.
#pragma once

#include <cstdint>
#include <string>

#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/communicator.h"

namespace gyre {

// The FLOP/s of the matrix products of all ranks, and where the figure is from.
struct ProductsLimit {
  double flops = 0;    // 0: unknown
  std::string source;  // "measured: VFMADD231PS on 512 bits in registers, 2 threads"; the reason if it is unknown
};

// Collective: all ranks measure at the same time, because they share the clock and the power of a machine. CPUs: the
// rate of the widest multiply-add instruction, measured in about a twentieth of a second. GPUs: the peak of the data
// sheet.
ProductsLimit products_limit(const Kernels& kernels, Precision precision, Communicator& ranks);

struct MemoryUse {
  // Bytes of this process in main memory, without the pages of mapped files such as token stores, which the system may
  // drop at any time.
  uint64_t process = 0;
  uint64_t gpu = 0;  // bytes that the process holds on its GPU for tensors; 0 without one
};

MemoryUse memory_use(Device device);

}  // namespace gyre
