#include "cuda_emulation/hooks.h"

#include <algorithm>
#include <cstring>

#include "tests/cuda_emulation/accesses/accesses.h"
#include "tests/cuda_emulation/block.h"
#include "tests/cuda_emulation/report.h"

namespace cuda_emulation {
namespace {

constexpr size_t kCopyBytes = 16;

bool is_misaligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % kCopyBytes != 0; }

// Suspends the thread until its warp has performed the operation.
void call(WarpOperation operation) {
  BlockRunner& runner = BlockRunner::current();
  runner.thread().operation = &operation;
  runner.suspend(Thread::State::in_warp_operation);
}

void land(const CopyGroup& group, const void* place) {
  for (const AsyncCopy& copy : group) {
    note_write(copy.to, kCopyBytes, place);
    if (copy.from) {
      std::memcpy(copy.to, copy.from, kCopyBytes);
    } else {
      std::memset(copy.to, 0, kCopyBytes);
    }
  }
}

}  // namespace

void fail_thread(const std::string& problem) { BlockRunner::current().fail(problem); }

void misaligned_access(size_t alignment) {
  fail_thread("a vector of " + std::to_string(alignment) + " bytes is accessed at an address that is not a multiple");
}

int lane() { return BlockRunner::current().thread().lane; }

void barrier(std::source_location at) {
  BlockRunner& runner = BlockRunner::current();
  runner.thread().at = at;
  runner.suspend(Thread::State::at_barrier);
}

void sync_warp(std::source_location at) { call({.kind = WarpOperation::Kind::sync, .at = at}); }

uint64_t shuffle(unsigned mask, uint64_t bits, int source, std::source_location at) {
  if (mask != 0xFFFFFFFF) fail_thread("the emulator knows only shuffles of whole warps, at " + place(at));
  uint64_t result = 0;
  call({.kind = WarpOperation::Kind::shuffle,
        .at = at,
        .bits = bits,
        .result = &result,
        .source = source & (kWarp - 1)});
  return result;
}

void multiply_matrices(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], std::source_location at) {
  call({.kind = WarpOperation::Kind::multiply, .at = at, .d = d, .a = a, .b = b});
}

void load_matrices(uint32_t (&to)[4], const void* row, bool transposed, std::source_location at) {
  using Kind = WarpOperation::Kind;
  if (is_misaligned(row)) fail_thread("ldmatrix: a row is not aligned to 16 bytes, at " + place(at));
  if (!BlockRunner::current().shared().contains(row, kCopyBytes))
    fail_thread("ldmatrix: a row is outside of the block's shared memory, at " + place(at));
  note_read(row, kCopyBytes, __builtin_return_address(0));
  call({.kind = transposed ? Kind::load_matrices_transposed : Kind::load_matrices, .at = at, .to = to, .row = row});
}

void copy_async(void* shared, const void* global, bool inside) {
  BlockRunner& runner = BlockRunner::current();
  if (is_misaligned(shared) || is_misaligned(global)) fail_thread("cp.async: an address is not aligned to 16 bytes");
  if (!runner.shared().contains(shared, kCopyBytes))
    fail_thread("cp.async: the destination is outside of the block's shared memory");
  if (inside) note_read(global, kCopyBytes, __builtin_return_address(0));
  note_write(shared, kCopyBytes, __builtin_return_address(0));
  runner.thread().open.push_back({shared, inside ? global : nullptr});
}

void commit_copies() {
  Thread& thread = BlockRunner::current().thread();
  thread.pending.push_back(std::move(thread.open));
  thread.open.clear();
}

void wait_copies(int groups) {
  const void* const place = __builtin_return_address(0);
  std::vector<CopyGroup>& pending = BlockRunner::current().thread().pending;
  const size_t landing = pending.size() - std::min(pending.size(), size_t(groups));
  for (size_t i = 0; i < landing; ++i) land(pending[i], place);
  pending.erase(pending.begin(), pending.begin() + ptrdiff_t(landing));
}

// ---- Compute capability 9.0 -----------------------------------------------------------------------------------------

namespace {

// Ends the launch if there was a mistake.
void check(const std::string& problem, std::source_location at) {
  if (!problem.empty()) fail_thread(problem + ", at " + place(at));
}

}  // namespace

void init_barrier(void* barrier, int arrivals, std::source_location at) {
  note_write(barrier, sizeof(uint64_t), __builtin_return_address(0));
  check(BlockRunner::current().hopper().init(barrier, arrivals), at);
}

void fence_barriers() { BlockRunner::current().hopper().fence_barriers(); }

void arrive(void* barrier, int bytes, std::source_location at) {
  note_read(barrier, sizeof(uint64_t), __builtin_return_address(0));
  check(BlockRunner::current().hopper().arrive(barrier, bytes), at);
  BlockRunner::current().wake_waiting();
}

void wait_barrier(void* barrier, int parity, std::source_location at) {
  BlockRunner& runner = BlockRunner::current();
  note_read(barrier, sizeof(uint64_t), __builtin_return_address(0));
  const BlockBarrier* state = runner.hopper().find(barrier);
  if (!state) return check("mbarrier: it is not initialized", at);
  if (parity != 0 && parity != 1) check("mbarrier: the parity is " + std::to_string(parity), at);
  if (!Hopper::has_ended(*state, parity)) {
    Thread& thread = runner.thread();
    thread.at = at;
    thread.barrier = barrier;
    thread.parity = parity;
    runner.suspend(Thread::State::at_block_barrier);
  }
  acquire(state->ended[parity]);
}

void named_barrier(int id, int threads, std::source_location at) {
  BlockRunner& runner = BlockRunner::current();
  if (id < 1 || id > 15 || threads < kWarp || threads % kWarp != 0)
    check("bar.sync: barrier " + std::to_string(id) + " of " + std::to_string(threads) + " threads", at);
  Thread& thread = runner.thread();
  thread.at = at;
  thread.id = id;
  thread.count = threads;
  runner.wait_at_named_barrier();
}

void fence_async() { fence_writes(); }

void load_panel(void* to, const CUtensorMap& from, int column, int row, void* barrier, std::source_location at) {
  note_read(barrier, sizeof(uint64_t), __builtin_return_address(0));
  check(BlockRunner::current().hopper().begin_copy(to, from, column, row, barrier), at);
}

void multiply_async(const AsyncProduct& product, std::source_location at) {
  call({.kind = WarpOperation::Kind::multiply_async, .at = at, .product = &product});
}
void fence_products(std::source_location at) { call({.kind = WarpOperation::Kind::fence_products, .at = at}); }
void commit_products(std::source_location at) { call({.kind = WarpOperation::Kind::commit_products, .at = at}); }
void wait_products(int groups, const float* const* finished, size_t count, std::source_location at) {
  call({.kind = WarpOperation::Kind::wait_products, .at = at, .groups = groups, .finished = finished, .count = count});
}

uint32_t shared_address(const void* data) {
  return uint32_t(static_cast<const std::byte*>(data) - BlockRunner::current().shared().dynamic());
}

std::byte* dynamic_shared_memory() { return BlockRunner::current().shared().dynamic(); }

void enter_shared_variables(const char* marker) {
  if (const std::string problem = BlockRunner::current().shared().enter_function(marker); !problem.empty())
    fail_thread(problem);
}

}  // namespace cuda_emulation
