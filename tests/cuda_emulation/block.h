// One block of threads. Its threads are fibers of one thread of the process. A warp runs until its lanes come to a
// barrier, each warp operation when all 32 lanes have called it; a barrier opens when all threads wait at it.
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "cuda_emulation/device.h"
#include "tests/cuda_emulation/fiber.h"
#include "tests/cuda_emulation/shared_memory.h"
#include "tests/cuda_emulation/warp.h"

namespace cuda_emulation {

struct AsyncCopy {
  void* to;          // 16 bytes of shared memory
  const void* from;  // null: zeros
};
using CopyGroup = std::vector<AsyncCopy>;

struct Thread {
  enum class State { ready, in_warp_operation, at_barrier, done };
  Fiber fiber;
  State state = State::ready;
  uint3 index;                         // index of the thread in its block
  int lane;                            // lane of the thread in its warp
  std::source_location at;             // place of the call of the barrier
  WarpOperation* operation = nullptr;  // pending operation, on the stack of the fiber
  CopyGroup open;                      // copies that are not committed
  std::vector<CopyGroup> pending;      // committed groups that have not landed
};

// A kernel, its arguments and its sizes.
struct Launch {
  std::string kernel;  // name
  unsigned grid[3], block[3];
  size_t dynamic_shared;         // bytes
  size_t allowed_shared;         // bytes of static and dynamic shared memory
  std::function<void()> thread;  // what each thread does
  size_t threads() const { return size_t(block[0]) * block[1] * block[2]; }
};

// Runs the blocks of a launch one after the other. The first mistake is reported and ends the launch.
class BlockRunner {
 public:
  explicit BlockRunner(const Launch& launch);
  void run();

  static BlockRunner& current();
  Thread& thread() { return *running_; }
  SharedMemory& shared() { return shared_; }
  void suspend(Thread::State state);
  [[noreturn]] void fail(const std::string& problem);  // reports a problem of the running thread

 private:
  struct Warp {
    std::vector<Thread*> lanes, order;  // order: in which they run
  };

  void run_block();
  void run_phase();  // until each thread is at a barrier or done
  void run_lanes(Warp& warp);
  bool finish_operation(const Warp& warp);  // false if no lane has called one
  void report_missing_lane(const Warp& warp);
  void open_barrier();
  void report_thread(const Thread& thread, const std::string& problem);
  static void run_thread();  // entry of the fibers

  const Launch& launch_;
  SharedMemory shared_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  Thread* running_ = nullptr;
  bool failed_ = false;
};

}  // namespace cuda_emulation
