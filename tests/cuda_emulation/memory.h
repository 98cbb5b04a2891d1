// Memory of the emulated GPU, and pinned memory. All functions need the lock of streams.h.
#pragma once

#include <cstddef>

namespace cuda_emulation {

constexpr size_t kDeviceMemory = size_t{8} << 30;  // bytes that the GPU reports

enum class MemoryKind { device, pinned };

// Aligned to 256 bytes and filled with NaN. Null if there is no memory left.
void* allocate(MemoryKind kind, size_t bytes);
bool release(MemoryKind kind, void* data);  // false if allocate() did not return it
bool contains(MemoryKind kind, const void* data, size_t bytes);
size_t allocated_bytes();  // of device memory

}  // namespace cuda_emulation
