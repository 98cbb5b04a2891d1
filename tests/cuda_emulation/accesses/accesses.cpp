#include "tests/cuda_emulation/accesses/accesses.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>
#include <string>

#include "cuda_emulation/hooks.h"
#include "tests/cuda_emulation/accesses/shared_races.h"
#include "tests/cuda_emulation/memory.h"

// Checks of AddressSanitizer, defined only in builds with it.
extern "C" {
[[gnu::weak]] void __asan_loadN(const void* data, size_t bytes);
[[gnu::weak]] void __asan_storeN(const void* data, size_t bytes);
}

namespace cuda_emulation {
namespace {

constexpr size_t kPageBytes = 4096, kWordBytes = 64;

// The bytes of a page that launch number `launch` has accessed, a bit for each.
struct Page {
  uint64_t launch;
  uint64_t read[kPageBytes / kWordBytes], written[kPageBytes / kWordBytes];
};

// Only the pages of memory that kernels access take physical memory.
Page* make_pages() {
  constexpr size_t kBytes = kDeviceAddresses / kPageBytes * sizeof(Page);
  void* data = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  return static_cast<Page*>(data);
}

thread_local bool is_running = false;  // a kernel runs on this thread, which may be any
bool is_counting = false;
uint64_t launch_number = 0;
uintptr_t first_address = 0;
Page* pages = nullptr;
AccessedBytes accessed;
MemoryBlock last_block{};  // block of the last access

void check_inside(const std::byte* data, size_t bytes, const char* verb) {
  if (data >= last_block.data && data + bytes <= last_block.data + last_block.bytes) return;
  last_block = device_block_at(data);
  if (data + bytes <= last_block.data + last_block.bytes) return;
  last_block = {};
  fail_thread(std::string("the kernel ") + verb + ' ' + std::to_string(bytes) + " bytes outside of allocated memory");
}

// Marks bytes of one page, and counts those that the launch has not accessed before.
void mark(size_t offset, size_t bytes, uint64_t (Page::*bits)[kPageBytes / kWordBytes], size_t& count) {
  Page& page = pages[offset / kPageBytes];
  if (page.launch != launch_number) page = {launch_number, {}, {}};
  while (bytes > 0) {
    const size_t at = offset % kWordBytes, part = std::min(bytes, kWordBytes - at);
    uint64_t& word = (page.*bits)[offset % kPageBytes / kWordBytes];
    const uint64_t mask = (part == kWordBytes ? ~uint64_t{0} : (uint64_t{1} << part) - 1) << at;
    count += size_t(std::popcount(mask & ~word));
    word |= mask;
    offset += part;
    bytes -= part;
  }
}

// Reads AddressSanitizer's shadow memory, in which 0 stands for 8 valid bytes, as its own checks do.
void check_by_sanitizer(const void* data, size_t bytes, bool writes) {
  constexpr uintptr_t kShadow = 0x7fff8000;
  if (!__asan_loadN) return;
  const uintptr_t first = reinterpret_cast<uintptr_t>(data), last = first + bytes - 1;
  const auto is_valid = [](uintptr_t at) { return *reinterpret_cast<const char*>((at >> 3) + kShadow) == 0; };
  if (is_valid(first) && is_valid(last)) return;
  (writes ? __asan_storeN : __asan_loadN)(data, bytes);
}

bool is_on_device(const void* data) { return reinterpret_cast<uintptr_t>(data) - first_address < kDeviceAddresses; }

void note(const void* data, size_t bytes, const char* verb, uint64_t (Page::*bits)[kPageBytes / kWordBytes],
          size_t& count) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(data) - first_address;
  check_inside(static_cast<const std::byte*>(data), bytes, verb);
  if (!is_counting) return;
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, kPageBytes - (offset + done) % kPageBytes);
    mark(offset + done, part, bits, count);
    done += part;
  }
}

}  // namespace

void begin_accesses(bool counted) {
  if (!pages) pages = make_pages();
  first_address = reinterpret_cast<uintptr_t>(device_addresses());
  ++launch_number;
  accessed = {};
  last_block = {};
  is_running = true;
  is_counting = counted;
}

AccessedBytes end_accesses() {
  is_running = false;
  return accessed;
}

void note_read(const void* data, size_t bytes, const void* place) {
  if (!is_running) return;
  if (is_on_device(data)) return note(data, bytes, "reads", &Page::read, accessed.read);
  check_shared_read(data, bytes, place);
  check_by_sanitizer(data, bytes, false);
}

void note_write(const void* data, size_t bytes, const void* place) {
  if (!is_running) return;
  if (is_on_device(data)) return note(data, bytes, "writes", &Page::written, accessed.written);
  check_shared_write(data, bytes, place);
  check_by_sanitizer(data, bytes, true);
}

}  // namespace cuda_emulation
