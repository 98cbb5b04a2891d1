#include "tests/allocation_peak.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

thread_local bool watching = false;
thread_local int64_t live = 0, peak = 0;

}  // namespace

AllocationPeak::AllocationPeak() {
  live = peak = 0;
  watching = true;
}
AllocationPeak::~AllocationPeak() { watching = false; }
size_t AllocationPeak::bytes() const { return static_cast<size_t>(peak); }

// The other forms, such as those for arrays, call these by default. AddressSanitizer has its own version of every form
// that is not defined here.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  void* memory = std::malloc(std::max<size_t>(bytes, 1));
  if (watching && memory != nullptr) peak = std::max(peak, live += static_cast<int64_t>(malloc_usable_size(memory)));
  return memory;
}

void* operator new(size_t bytes) {
  void* memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept {
  if (watching) live -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
