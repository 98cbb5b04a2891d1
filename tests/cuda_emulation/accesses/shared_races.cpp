#include "tests/cuda_emulation/accesses/shared_races.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

#include "cuda_emulation/device.h"

extern "C" {
extern const char __bss_start[], _end[];  // bounds of the variables that are zero at the start, made by the linker
// Defined only in builds with AddressSanitizer. Writes the place in the sources, in the first of several strings.
[[gnu::weak]] void __sanitizer_symbolize_pc(const void* place, const char* format, char* to, size_t bytes);
}

namespace cuda_emulation {
namespace {

// The time and the thread of an access: time << kThreadBits | thread. Time passes at barriers only. For reads of
// several threads since the last barrier, the thread is kSeveralLanes + warp, or kSeveralWarps.
using Stamp = uint64_t;
constexpr int kThreadBits = 16, kLanes = 32, kMostWarps = 32;
constexpr uint64_t kSeveralLanes = 0x4000, kSeveralWarps = 0x8000, kThreadMask = 0xFFFF;

uint64_t time_of(Stamp stamp) { return stamp >> kThreadBits; }
uint64_t threads_of(Stamp stamp) { return stamp & kThreadMask; }

// The last write of a byte and the reads since the last barrier. A byte that is not shared memory has zeros.
struct Byte {
  Stamp write, read;
};

uint64_t now = 1;                   // the last time that was given
Stamp last_barrier = 0;             // earlier stamps are ordered before all accesses of the block
uint64_t time_of_warp[kMostWarps];  // time of the last barrier of each warp
Stamp running = 0;                  // stamp of an access of the running thread
uint64_t running_warp = 0;

size_t size_of_variables() { return size_t(_end - __bss_start); }

// Only the pages for shared memory take physical memory. The byte behind the variables is not shared memory.
Byte* make_bytes() {
  void* data = mmap(nullptr, (size_of_variables() + 1) * sizeof(Byte), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  return static_cast<Byte*>(data);
}
Byte* const all_bytes = make_bytes();

bool is_ordered_write(Stamp write) {
  if (write < last_barrier || threads_of(write) == threads_of(running)) return true;
  return threads_of(write) / kLanes == running_warp && time_of(write) < time_of(running);
}

bool is_ordered_read(Stamp read) {
  if (read < last_barrier || threads_of(read) == threads_of(running)) return true;
  const uint64_t threads = threads_of(read);
  if (threads == kSeveralWarps) return false;
  const uint64_t warp = threads >= kSeveralLanes ? threads - kSeveralLanes : threads / kLanes;
  return warp == running_warp && time_of(read) < time_of(running);
}

// The stamp of all reads since the last barrier, including one of the running thread.
Stamp with_running(Stamp read) {
  if (read < last_barrier || threads_of(read) == threads_of(running)) return running;
  const uint64_t threads = threads_of(read);
  if (threads == kSeveralWarps) return read;
  const uint64_t warp = threads >= kSeveralLanes ? threads - kSeveralLanes : threads / kLanes;
  if (warp != running_warp) return time_of(running) << kThreadBits | kSeveralWarps;
  if (time_of(read) < time_of(running)) return running;
  return time_of(running) << kThreadBits | (kSeveralLanes + warp);
}

std::string text(uint64_t thread) {
  if (thread >= kSeveralLanes) return "several threads have";
  const uint64_t x = thread % blockDim.x, y = thread / blockDim.x % blockDim.y, z = thread / blockDim.x / blockDim.y;
  return "thread (" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ") has";
}

// " at FILE:LINE", or "" in builds without AddressSanitizer.
std::string at(const void* place) {
  if (!__sanitizer_symbolize_pc) return "";
  char lines[1024] = {};
  __sanitizer_symbolize_pc(static_cast<const char*>(place) - 1, "%s:%l", lines, sizeof(lines));
  const std::string path = lines;
  return " at " + path.substr(path.rfind('/') + 1);
}

[[gnu::noinline]] void report_race(const char* verb, Stamp other, const char* participle, const void* place) {
  fail_thread(std::string("race on shared memory: this thread ") + verb + at(place) + " a byte that " +
              text(threads_of(other)) + ' ' + participle + ", without a barrier in between");
}

bool is_shared(const Byte& byte) { return byte.write != 0; }

// Calls f for the bytes of an access that begins in shared memory, up to the end of shared memory: AddressSanitizer
// checks those behind.
template <class F>
void for_shared_bytes(const void* data, size_t bytes, const F& f) {
  const size_t offset = size_t(static_cast<const char*>(data) - __bss_start);
  if (offset >= size_of_variables()) return;
  Byte* const first = all_bytes + offset;
  for (Byte* byte = first; byte != first + bytes && is_shared(*byte); ++byte) f(*byte);
}

}  // namespace

void add_shared_memory(const std::byte* data, size_t bytes) {
  const size_t offset = size_t(reinterpret_cast<const char*>(data) - __bss_start);
  if (offset >= size_of_variables()) throw std::logic_error("a shared variable is not where the emulator expects it");
  std::fill_n(all_bytes + offset, bytes, Byte{1, 1});
}

void pass_block_barrier() {
  last_barrier = ++now << kThreadBits;
  std::fill_n(time_of_warp, kMostWarps, now);
}

void pass_warp_barrier(int warp) { time_of_warp[warp] = ++now; }

void set_running_thread(int thread) {
  running_warp = uint64_t(thread / kLanes);
  running = time_of_warp[running_warp] << kThreadBits | uint64_t(thread);
}

void check_shared_read(const void* data, size_t bytes, const void* place) {
  for_shared_bytes(data, bytes, [&](Byte& byte) {
    if (!is_ordered_write(byte.write)) report_race("reads", byte.write, "written", place);
    byte.read = with_running(byte.read);
  });
}

void check_shared_write(const void* data, size_t bytes, const void* place) {
  for_shared_bytes(data, bytes, [&](Byte& byte) {
    if (!is_ordered_write(byte.write)) report_race("writes", byte.write, "written", place);
    if (!is_ordered_read(byte.read)) report_race("writes", byte.read, "read", place);
    byte.write = running;
  });
}

}  // namespace cuda_emulation
