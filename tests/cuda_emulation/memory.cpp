#include "tests/cuda_emulation/memory.h"

#include <cstdlib>
#include <cstring>
#include <map>

namespace cuda_emulation {
namespace {

constexpr size_t kAlignment = 256;
constexpr int kNan = 0xFF;

struct Blocks {
  std::map<const std::byte*, size_t> sizes;  // by address
  size_t bytes = 0;
};
Blocks& blocks(MemoryKind kind) {
  static Blocks device, pinned;
  return kind == MemoryKind::device ? device : pinned;
}

}  // namespace

void* allocate(MemoryKind kind, size_t bytes) {
  Blocks& all = blocks(kind);
  if (bytes > kDeviceMemory - all.bytes) return nullptr;
  void* data = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
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
  all.bytes -= found->second;
  all.sizes.erase(found);
  std::free(data);
  return true;
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

}  // namespace cuda_emulation
