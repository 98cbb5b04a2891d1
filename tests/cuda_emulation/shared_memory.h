// Shared memory of the block that runs. It holds NaN at the start of each block.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace cuda_emulation {

constexpr size_t kSharedWithoutAsking = 48 << 10;  // bytes of static and dynamic shared memory
constexpr size_t kMostShared = 227 << 10;          // bytes per block of compute capability 9.0

// The bytes that a block may have: kMostShared, or the KiB in GYRE_CUDA_EMULATION_MOST_SHARED, as of a smaller GPU.
size_t most_shared();

class SharedMemory {
 public:
  // `dynamic`: bytes. `allowed`: limit of the sum of static and dynamic bytes.
  SharedMemory(size_t dynamic, size_t allowed);
  void begin_block();
  std::string end_block();  // the mistake if a thread wrote behind the dynamic memory, else ""

  std::byte* dynamic() { return dynamic_; }
  // Enters the function that `marker` belongs to (hooks.h). Returns the mistake if there is too little memory, else "".
  std::string enter_function(const char* marker);
  bool contains(const void* data, size_t bytes) const;

 private:
  struct Range {
    std::byte* data;
    size_t bytes;
  };
  std::byte* dynamic_;
  size_t dynamic_bytes_, allowed_;
  std::vector<Range> variables_;        // static ones, of the functions that blocks of this launch have entered
  std::set<const std::byte*> entered_;  // static variables that this block has filled with NaN
  std::set<const char*> markers_;       // markers that this block has passed
};

}  // namespace cuda_emulation
