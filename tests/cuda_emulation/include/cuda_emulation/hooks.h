// The emulator's functions that device code calls through the CUDA headers of this folder. Each acts for the emulated
// thread that calls it. A mistake ends the launch: it is printed, and the next synchronization returns an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

struct CUtensorMap;

namespace cuda_emulation {

// Ends the launch with a report of the thread and `problem`.
[[noreturn]] void fail_thread(const std::string& problem);
[[noreturn]] void misaligned_access(size_t alignment);

int lane();  // lane of the calling thread in its warp

// Barrier of the block, and operations of a whole warp. `at`: place of the call, for reports. All threads must come to
// the same place.
void barrier(std::source_location at);
void sync_warp(std::source_location at);
uint64_t shuffle(unsigned mask, uint64_t bits, int source, std::source_location at);

// Instructions of core/cuda/tensor_core.h. Copies land when the thread waits for them, and not before.
void multiply_matrices(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], std::source_location at);
void load_matrices(uint32_t (&to)[4], const void* row, bool transposed, std::source_location at);
void copy_async(void* shared, const void* global, bool inside);
void commit_copies();
void wait_copies(int groups);  // until at most `groups` committed groups are pending

// Instructions of core/cuda/hopper_instructions.h.
void init_barrier(void* barrier, int arrivals, std::source_location at);
void fence_barriers();
void arrive(void* barrier, int bytes, std::source_location at);  // bytes: what copies of the phase must bring
void wait_barrier(void* barrier, int parity, std::source_location at);
void named_barrier(int id, int threads, std::source_location at);
void fence_async();
void load_panel(void* to, const CUtensorMap& from, int column, int row, void* barrier, std::source_location at);
// A product of a warpgroup. a: four registers, and b is MN-major; or null, and both are K-major in shared memory.
struct AsyncProduct {
  float* d;
  int columns;
  const uint32_t* a;
  uint64_t a_operand, b_operand;
  bool keep;
};
void multiply_async(const AsyncProduct& product, std::source_location at);
void fence_products(std::source_location at);
void commit_products(std::source_location at);
// `finished`: sums that must be finished then.
void wait_products(int groups, const float* const* finished, size_t count, std::source_location at);
uint32_t shared_address(const void* data);  // offset in dynamic shared memory

std::byte* dynamic_shared_memory();  // dynamic shared memory of the block that runs

// Fills the static shared variables of the function that `marker` belongs to with NaN, once per block, and counts them
// as part of the block's shared memory.
void enter_shared_variables(const char* marker);

}  // namespace cuda_emulation
