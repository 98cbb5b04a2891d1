// Finds races on shared memory: two accesses of a block to the same byte, at least one of which writes, that no barrier
// orders. Barriers are __syncthreads(), __syncwarp() for threads of one warp, and whatever release() and acquire()
// report. Other operations of a warp do not order memory (CUDA C++ Programming Guide, "Warp Shuffle Functions").
//
// The threads run one after the other, so of two accesses the later one is checked. For each byte, the last write and
// the reads since then are kept with the times of their threads. What a thread has seen of the other threads is a
// vector clock, as in Flanagan and Freund, "FastTrack", 2009. Time passes at barriers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cuda_emulation {

void add_shared_memory(const std::byte* data, size_t bytes);  // a static variable of the emulator or of a kernel

// Numbers of threads and warps are those in their block.
void begin_block(int threads);
void pass_block_barrier();
void pass_warp_barrier(int warp);
void set_running_thread(int thread);

// Called before an access of the running thread, at the address `place` in the program. A race ends the launch with a
// report. Has no effect outside of shared memory.
void check_shared_read(const void* data, size_t bytes, const void* place);
void check_shared_write(const void* data, size_t bytes, const void* place);

// ---- Copies by TMA, products by warpgroups, and barriers in shared memory -------------------------------------------

constexpr int kMostBarriers = 64;

// What has happened before a moment: the last time of each thread, of the products of each warp and of the copies of
// each barrier. Threads count from the last barrier of the block.
struct Clock {
  uint64_t epoch = 0;  // number of the last barrier of the block
  std::vector<uint32_t> times;
};
void release(Clock& to);  // adds what the running thread has done and seen; its later accesses do not belong to it
void acquire(const Clock& from);  // the running thread has seen this
// Adds the copies of the phase with this number of a barrier.
void add_copies(Clock& to, int barrier, uint32_t phase);

// Reads by products of the running thread's warp that belong to a group, numbered from 1. They must have been ordered
// like reads of the running thread, and the bytes written before fence_writes() of the thread that has written them.
// Returns the mistake, or "".
std::string check_product_read(uint32_t group, const void* data, size_t bytes);
void finish_products(int warp, uint32_t group);  // the warp has waited for the products up to this group
void fence_writes();                             // of the running thread

// What the running thread has seen when it begins a copy.
struct CopyStart {
  Clock clock;
  int thread;
};
CopyStart begin_copy();
// Called before the copy writes, over bytes that no thread may have written since its fence_writes(). Returns the
// mistake, or "".
std::string check_copy(const CopyStart& start, int barrier, uint32_t phase, const void* data, size_t bytes);

}  // namespace cuda_emulation
