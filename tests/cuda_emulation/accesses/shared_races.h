// Finds races on shared memory: accesses of two threads of a block to the same byte, at least one of which writes,
// without a barrier in between. Barriers are __syncthreads(), and __syncwarp() for threads of one warp. Other
// operations of a warp do not order memory (CUDA C++ Programming Guide, "Warp Shuffle Functions").
//
// The threads run one after the other, so of two accesses the later one is checked. For each byte, the time of the last
// write and the threads that have read it since the last barrier are kept, as in Flanagan and Freund, "FastTrack",
// 2009.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuda_emulation {

void add_shared_memory(const std::byte* data, size_t bytes);  // a static variable of the emulator or of a kernel

void pass_block_barrier();         // also at the start of each block
void pass_warp_barrier(int warp);  // numbers of warps and threads are those in their block
void set_running_thread(int thread);

// Called before an access of the running thread, at the address `place` in the program. A race ends the launch with a
// report. Has no effect outside of shared memory.
void check_shared_read(const void* data, size_t bytes, const void* place);
void check_shared_write(const void* data, size_t bytes, const void* place);

}  // namespace cuda_emulation
