// Memory of the emulated GPU, and pinned memory. All functions need the lock of streams.h.
#pragma once

#include <cstddef>

namespace cuda_emulation {

constexpr size_t kDeviceAddresses = size_t{256} << 30;  // size of the range of addresses that device memory lies in

// The bytes of the GPU: 8 GiB, or the MiB in GYRE_CUDA_EMULATION_MEMORY.
size_t device_memory();

enum class MemoryKind { device, pinned };

struct MemoryBlock {
  const std::byte* data;
  size_t bytes;
};

// Aligned to 256 bytes and filled with NaN. Null if there is no memory left. Addresses of device memory are not reused,
// and are followed by at least one page without memory.
void* allocate(MemoryKind kind, size_t bytes);
bool release(MemoryKind kind, void* data);  // false if allocate() did not return it
bool contains(MemoryKind kind, const void* data, size_t bytes);
size_t allocated_bytes();  // bytes of device memory in use

std::byte* device_addresses();                       // start of the range of device memory
MemoryBlock device_block_at(const std::byte* data);  // the block that contains the byte; {} if none does

}  // namespace cuda_emulation
