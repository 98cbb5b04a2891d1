#include "tests/cuda_emulation/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>

namespace cuda_emulation {
namespace {

constexpr size_t kAlignment = 256, kPage = 4096;
constexpr int kNan = 0xFF;

struct Blocks {
  std::map<const std::byte*, size_t> sizes;  // sizes of the blocks by address
  size_t bytes = 0;
};
Blocks& blocks(MemoryKind kind) {
  static Blocks device, pinned;
  return kind == MemoryKind::device ? device : pinned;
}

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Replaces the pages of a range. Null on failure.
void* map_pages(void* at, size_t bytes, int protection) {
  const int fixed = at ? MAP_FIXED : 0;
  void* data = mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  return data == MAP_FAILED ? nullptr : data;
}

void* fetch_device_memory(size_t bytes) {
  static size_t used = 0;
  const size_t mapped = std::max(rounded_up(bytes, kPage), kPage);
  if (mapped + kPage > kDeviceAddresses - used) return nullptr;
  void* data = map_pages(device_addresses() + used, mapped, PROT_READ | PROT_WRITE);
  used += mapped + kPage;
  return data;
}

}  // namespace

size_t device_memory() {
  static const size_t bytes = [] {
    const char* mebibytes = std::getenv("GYRE_CUDA_EMULATION_MEMORY");
    return (mebibytes ? size_t(std::atoi(mebibytes)) : size_t{8} << 10) << 20;
  }();
  return bytes;
}

void* allocate(MemoryKind kind, size_t bytes) {
  Blocks& all = blocks(kind);
  if (bytes > device_memory() - all.bytes) return nullptr;
  const bool on_device = kind == MemoryKind::device;
  void* data = on_device ? fetch_device_memory(bytes) : std::aligned_alloc(kAlignment, rounded_up(bytes, kAlignment));
  if (!data) return nullptr;
  std::memset(data, kNan, bytes);
  all.sizes.emplace(static_cast<const std::byte*>(data), bytes);
  all.bytes += bytes;
  return data;
}

bool release(MemoryKind kind, void* data) {
  Blocks& all = blocks(kind);
  const auto found = all.sizes.find(static_cast<const std::byte*>(data));
  if (found == all.sizes.end()) return false;
  const size_t bytes = found->second;
  all.bytes -= bytes;
  all.sizes.erase(found);
  if (kind == MemoryKind::pinned) {
    std::free(data);
    return true;
  }
  return map_pages(data, std::max(rounded_up(bytes, kPage), kPage), PROT_NONE) != nullptr;
}

bool contains(MemoryKind kind, const void* data, size_t bytes) {
  const auto& sizes = blocks(kind).sizes;
  const auto* first = static_cast<const std::byte*>(data);
  auto after = sizes.upper_bound(first);
  if (after == sizes.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return first + bytes <= begin + size;
}

size_t allocated_bytes() { return blocks(MemoryKind::device).bytes; }

std::byte* device_addresses() {
  static void* const range = map_pages(nullptr, kDeviceAddresses, PROT_NONE);
  if (!range) throw std::bad_alloc();
  return static_cast<std::byte*>(range);
}

MemoryBlock device_block_at(const std::byte* data) {
  const auto& sizes = blocks(MemoryKind::device).sizes;
  const auto after = sizes.upper_bound(data);
  if (after == sizes.begin()) return {};
  const auto& [begin, size] = *std::prev(after);
  return data < begin + size ? MemoryBlock{begin, size} : MemoryBlock{};
}

}  // namespace cuda_emulation
