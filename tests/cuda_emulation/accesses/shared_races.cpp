#include "tests/cuda_emulation/accesses/shared_races.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <new>
#include <stdexcept>

#include "cuda_emulation/device.h"

extern "C" {
extern const char __bss_start[], _end[];  // bounds of the variables that are zero at the start, made by the linker
// Defined only in builds with AddressSanitizer. Writes the place in the sources, in the first of several strings.
[[gnu::weak]] void __sanitizer_symbolize_pc(const void* place, const char* format, char* to, size_t bytes);
}

namespace cuda_emulation {
namespace {

using Time = uint32_t;

constexpr int kLanes = 32, kMostWarps = 32, kMostThreads = kMostWarps * kLanes;

// Actors that access a byte: a thread, the products of a warp, the copies of a barrier, or several readers.
enum Actor : uint64_t {
  kThreads = 0,
  kProducts = 0x1000,      // kProducts + warp
  kCopies = 0x2000,        // kCopies + barrier
  kSeveralLanes = 0x4000,  // kSeveralLanes + warp
  kSeveralWarps = 0x8000  // the time is the index in several_readers, or 0 if only barriers of the block order accesses
};

// When and by whom a byte was accessed: barriers of the block before it, the actor's time since then, the actor.
using Stamp = uint64_t;
constexpr int kActorBits = 16, kTimeBits = 20;

Stamp stamp_of(uint64_t epoch, Time time, uint64_t actor) {
  return epoch << (kTimeBits + kActorBits) | uint64_t(time) << kActorBits | actor;
}
uint64_t epoch_of(Stamp stamp) { return stamp >> (kTimeBits + kActorBits); }
Time time_of(Stamp stamp) { return Time(stamp >> kActorBits & ((1 << kTimeBits) - 1)); }
uint64_t actor_of(Stamp stamp) { return stamp & ((1 << kActorBits) - 1); }
bool is_thread(uint64_t actor) { return actor < kProducts; }
bool is_product(uint64_t actor) { return actor >= kProducts && actor < kCopies; }
bool is_copy(uint64_t actor) { return actor >= kCopies && actor < kSeveralLanes; }
uint64_t warp_of(uint64_t actor) { return is_thread(actor) ? actor / kLanes : actor & 0xFFF; }

// The last write of a byte and the reads that no write has followed. A byte that is not shared memory has zeros.
struct Byte {
  Stamp write, read;
};

size_t size_of_variables() { return size_t(_end - __bss_start); }

// Only the pages for shared memory take physical memory. The byte behind the variables is not shared memory.
Byte* make_bytes() {
  void* data = mmap(nullptr, (size_of_variables() + 1) * sizeof(Byte), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  return static_cast<Byte*>(data);
}
Byte* const all_bytes = make_bytes();

uint64_t epoch = 1;                                    // barriers of blocks so far
uint64_t first_epoch = 1;                              // at the start of the block
int threads = 0;                                       // number of threads of the block
int running = 0;                                       // number of the thread that runs
Time times[kMostThreads], times_of_warps[kMostWarps];  // the latter: after the warp's last barrier
uint64_t fences[kMostThreads];                         // epoch and time of the last fence_writes()
Time finished_products[kMostWarps];

// Whether the block has other barriers than __syncthreads() and __syncwarp(). What each thread has seen by them.
bool has_clocks = false;
std::vector<Time> seen[kMostThreads];

// Readers of a byte in several warps, and the numbers of their lists: the bytes of a tile have the same ones.
using Readers = std::vector<Stamp>;
std::vector<Readers> several_readers;
std::map<Readers, Time> numbers_of_readers;

size_t place_of(uint64_t actor) {
  if (is_thread(actor)) return actor;
  return size_t(threads) + (is_copy(actor) ? kMostWarps + (actor - kCopies) : actor - kProducts);
}
size_t clock_size() { return size_t(threads) + kMostWarps + kMostBarriers; }

void join(std::vector<Time>& to, const std::vector<Time>& from, size_t first = 0) {
  if (from.empty()) return;
  to.resize(clock_size());
  for (size_t i = first; i < to.size(); ++i) to[i] = std::max(to[i], from[i]);
}

// What orders an access after earlier ones.
struct View {
  uint64_t epoch;
  uint64_t thread;
  Time time, time_of_warp, finished_products;
  const std::vector<Time>& clock;

  uint64_t warp() const { return thread / kLanes; }
  bool clock_has(uint64_t actor, Time time) const { return !clock.empty() && clock[place_of(actor)] >= time; }

  bool has_seen(Stamp stamp) const {
    const uint64_t actor = actor_of(stamp);
    const Time when = time_of(stamp);
    if (epoch_of(stamp) < first_epoch) return true;
    if (actor == kSeveralWarps && when != 0) {
      const Readers& readers = several_readers[when];
      return std::all_of(readers.begin(), readers.end(), [&](Stamp reader) { return has_seen(reader); });
    }
    // Barriers of the block order neither copies nor products, which nobody may have waited for.
    if (is_copy(actor)) return clock_has(actor, when);
    if (is_product(actor)) return (warp_of(actor) == warp() && when <= finished_products) || clock_has(actor, when);
    if (epoch_of(stamp) < epoch) return true;
    if (epoch_of(stamp) > epoch || actor == kSeveralWarps) return false;
    if (actor == thread) return when <= time;
    if (warp_of(actor) == warp() && when < time_of_warp) return true;
    return is_thread(actor) ? clock_has(actor, when) : has_seen_lanes(warp_of(actor), when);
  }
  bool has_seen_lanes(uint64_t of_warp, Time when) const {
    for (uint64_t lane = 0; lane < kLanes; ++lane) {
      const uint64_t other = of_warp * kLanes + lane;
      if (other < uint64_t(threads) && other != thread && !clock_has(other, when)) return false;
    }
    return true;
  }
};

View running_view() {
  const int warp = running / kLanes;
  return {epoch, uint64_t(running), times[running], times_of_warps[warp], finished_products[warp], seen[running]};
}
Stamp running_stamp() { return stamp_of(epoch, times[running], uint64_t(running)); }

// The stamp of earlier reads together with a new one.
Stamp with_read(Stamp earlier, Stamp read, const View& view) {
  if (earlier == read || view.has_seen(earlier)) return read;
  const uint64_t actor = actor_of(read);
  const auto is_of_same_lanes = [&](Stamp other) {
    return is_thread(actor) && warp_of(actor_of(other)) == warp_of(actor) && epoch_of(other) == epoch_of(read) &&
           (is_thread(actor_of(other)) || actor_of(other) == kSeveralLanes + warp_of(actor));
  };
  const auto of_lanes = [&](Stamp other) {
    return stamp_of(epoch, std::max(time_of(other), time_of(read)), kSeveralLanes + warp_of(actor));
  };
  if (is_of_same_lanes(earlier)) return of_lanes(earlier);
  if (!has_clocks || earlier == stamp_of(epoch_of(earlier), 0, kSeveralWarps)) return stamp_of(epoch, 0, kSeveralWarps);
  Readers readers;
  if (actor_of(earlier) == kSeveralWarps) {
    readers = several_readers[time_of(earlier)];
  } else {
    readers = {earlier};
  }
  std::erase_if(readers, [&](Stamp other) { return view.has_seen(other); });
  const auto lanes = std::find_if(readers.begin(), readers.end(), is_of_same_lanes);
  if (lanes == readers.end()) {
    readers.push_back(read);
  } else if (*lanes != read) {
    *lanes = of_lanes(*lanes);
  }
  std::sort(readers.begin(), readers.end());
  const auto [known, is_new] = numbers_of_readers.insert({readers, Time(several_readers.size())});
  if (is_new) several_readers.push_back(std::move(readers));
  if (several_readers.size() >> kTimeBits != 0) fail_thread("the emulator has no room for more readers of a byte");
  return stamp_of(epoch, known->second, kSeveralWarps);
}

// with_read() for one byte after the other: most have the same earlier reads.
class ReadStamps {
 public:
  ReadStamps(Stamp read, const View& view) : read_(read), view_(view) {}
  Stamp after(Stamp earlier) {
    if (earlier != earlier_) {
      earlier_ = earlier;
      both_ = with_read(earlier, read_, view_);
    }
    return both_;
  }

 private:
  Stamp read_, earlier_ = ~Stamp{0}, both_ = 0;
  const View& view_;
};

std::string text(uint64_t actor) {
  if (is_product(actor)) return "products of warp " + std::to_string(warp_of(actor)) + " have";
  if (is_copy(actor)) return "an asynchronous copy has";
  if (!is_thread(actor)) return "several threads have";
  const uint64_t x = actor % blockDim.x, y = actor / blockDim.x % blockDim.y, z = actor / blockDim.x / blockDim.y;
  return "thread (" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ") has";
}

// " at FILE:LINE", or "" in builds without AddressSanitizer.
std::string at(const void* place) {
  if (!__sanitizer_symbolize_pc || !place) return "";
  char lines[1024] = {};
  __sanitizer_symbolize_pc(static_cast<const char*>(place) - 1, "%s:%l", lines, sizeof(lines));
  const std::string path = lines;
  return " at " + path.substr(path.rfind('/') + 1);
}

[[gnu::noinline]] std::string race(const std::string& access, Stamp other, const char* participle,
                                   const void* place = nullptr) {
  return "race on shared memory: " + access + at(place) + " a byte that " + text(actor_of(other)) + ' ' + participle +
         ", without a barrier in between";
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

void begin_epoch() {
  ++epoch;
  std::fill_n(times, threads, Time{1});
  std::fill_n(times_of_warps, kMostWarps, Time{1});
}

// The times of threads belong to the epoch; those of products and copies, which are behind them, stay.
void move_to_epoch(Clock& clock) {
  clock.times.resize(clock_size());
  if (clock.epoch != epoch) std::fill_n(clock.times.begin(), threads, Time{0});
  clock.epoch = epoch;
}

// Whether the last write was one of a thread of this block, which has not called fence_writes() since.
bool needs_fence(const Byte& byte) {
  const uint64_t writer = actor_of(byte.write);
  return is_thread(writer) && epoch_of(byte.write) >= first_epoch && byte.write >> kActorBits > fences[writer];
}
std::string missing_fence(const char* access, const Byte& byte) {
  return std::string(access) + " a byte that " + text(actor_of(byte.write)) +
         " written, without fence.proxy.async by that thread in between";
}

}  // namespace

void add_shared_memory(const std::byte* data, size_t bytes) {
  const size_t offset = size_t(reinterpret_cast<const char*>(data) - __bss_start);
  if (offset >= size_of_variables()) throw std::logic_error("a shared variable is not where the emulator expects it");
  std::fill_n(all_bytes + offset, bytes, Byte{1, 1});
}

void begin_block(int block_threads) {
  threads = block_threads;
  if (has_clocks) {
    for (std::vector<Time>& clock : seen) clock.clear();
  }
  has_clocks = false;
  several_readers.assign(1, {});  // index 0 stands for readers that are not listed
  numbers_of_readers.clear();
  begin_epoch();
  first_epoch = epoch;
  std::fill_n(fences, kMostThreads, 0);
  std::fill_n(finished_products, kMostWarps, Time{0});
}

void pass_block_barrier() {
  begin_epoch();
  if (!has_clocks) return;
  std::vector<Time> all(clock_size());
  for (int i = 0; i < threads; ++i) join(all, seen[i], size_t(threads));
  for (int warp = 0; warp < kMostWarps; ++warp) {
    Time& last = all[place_of(kProducts + uint64_t(warp))];
    last = std::max(last, finished_products[warp]);
  }
  for (int i = 0; i < threads; ++i) seen[i] = all;
}

void pass_warp_barrier(int warp) {
  const int first = warp * kLanes, last = std::min(threads, first + kLanes);
  const Time latest = *std::max_element(times + first, times + last) + 1;
  std::fill(times + first, times + last, latest);
  times_of_warps[warp] = latest;
  if (!has_clocks) return;
  std::vector<Time> all;
  for (int i = first; i < last; ++i) join(all, seen[i]);
  for (int i = first; i < last; ++i) seen[i] = all;
}

void set_running_thread(int thread) { running = thread; }

void check_shared_read(const void* data, size_t bytes, const void* place) {
  const View view = running_view();
  ReadStamps stamps(running_stamp(), view);
  for_shared_bytes(data, bytes, [&](Byte& byte) {
    if (!view.has_seen(byte.write)) fail_thread(race("this thread reads", byte.write, "written", place));
    byte.read = stamps.after(byte.read);
  });
}

void check_shared_write(const void* data, size_t bytes, const void* place) {
  const View view = running_view();
  for_shared_bytes(data, bytes, [&](Byte& byte) {
    if (!view.has_seen(byte.write)) fail_thread(race("this thread writes", byte.write, "written", place));
    if (!view.has_seen(byte.read)) fail_thread(race("this thread writes", byte.read, "read", place));
    byte.write = running_stamp();
  });
}

void release(Clock& to) {
  has_clocks = true;
  move_to_epoch(to);
  join(to.times, seen[running]);
  const int warp = running / kLanes;
  for (int i = warp * kLanes; i < std::min(threads, (warp + 1) * kLanes); ++i) {
    to.times[size_t(i)] = std::max(to.times[size_t(i)], i == running ? times[i] : times_of_warps[warp] - 1);
  }
  Time& products = to.times[place_of(kProducts + uint64_t(warp))];
  products = std::max(products, finished_products[warp]);
  ++times[running];
}

void acquire(const Clock& from) {
  if (from.times.empty()) return;
  has_clocks = true;
  join(seen[running], from.times, from.epoch == epoch ? 0 : size_t(threads));
}

void add_copies(Clock& to, int barrier, uint32_t phase) {
  move_to_epoch(to);
  Time& last = to.times[place_of(kCopies + uint64_t(barrier))];
  last = std::max(last, phase);
}

std::string check_product_read(uint32_t group, const void* data, size_t bytes) {
  has_clocks = true;
  const View view = running_view();
  const Stamp read = stamp_of(epoch, group, kProducts + view.warp());
  ReadStamps stamps(read, view);
  std::string problem;
  for_shared_bytes(data, bytes, [&](Byte& byte) {
    if (!view.has_seen(byte.write)) problem = race("a product of this warp reads", byte.write, "written");
    if (needs_fence(byte)) problem = missing_fence("a product of this warp reads", byte);
    byte.read = stamps.after(byte.read);
  });
  return problem;
}

void finish_products(int warp, uint32_t group) { finished_products[warp] = group; }

void fence_writes() {
  fences[running] = running_stamp() >> kActorBits;
  ++times[running];
}

CopyStart begin_copy() {
  CopyStart start{{}, running};
  release(start.clock);
  return start;
}

std::string check_copy(const CopyStart& start, int barrier, uint32_t phase, const void* data, size_t bytes) {
  // What the thread has done itself until then is in the clock, too.
  const View view{start.clock.epoch, kMostThreads, 0, 0, 0, start.clock.times};
  std::string problem;
  for_shared_bytes(data, bytes, [&](Byte& byte) {
    if (!problem.empty()) return;
    if (!view.has_seen(byte.write)) problem = race("an asynchronous copy writes", byte.write, "written");
    if (!view.has_seen(byte.read)) problem = race("an asynchronous copy writes", byte.read, "read");
    if (problem.empty() && needs_fence(byte)) problem = missing_fence("an asynchronous copy writes", byte);
    byte.write = stamp_of(epoch, phase, kCopies + uint64_t(barrier));
  });
  return problem;
}

}  // namespace cuda_emulation
