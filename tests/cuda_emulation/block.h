// One block of threads. Its threads are fibers of one thread of the process. A warp runs until its lanes come to a
// barrier, each warp operation when all 32 lanes have called it; a barrier opens when all threads wait at it, or its
// number of threads. If no thread can run and no copy is pending, the threads are in a deadlock, which is reported.
#pragma once

#include <functional>
#include <map>
#include <source_location>
#include <string>
#include <vector>

#include "cuda_emulation/device.h"
#include "tests/cuda_emulation/fiber.h"
#include "tests/cuda_emulation/hopper.h"
#include "tests/cuda_emulation/shared_memory.h"
#include "tests/cuda_emulation/warp.h"

namespace cuda_emulation {

struct AsyncCopy {
  void* to;          // 16 bytes of shared memory
  const void* from;  // null: zeros
};
using CopyGroup = std::vector<AsyncCopy>;

struct Thread {
  enum class State { ready, in_warp_operation, at_barrier, at_named_barrier, at_block_barrier, done };
  Fiber fiber;
  State state = State::ready;
  uint3 index;                    // index of the thread in its block
  int lane;                       // lane of the thread in its warp
  std::source_location at;        // place of the call of the barrier
  const void* barrier = nullptr;  // at_block_barrier: the barrier in shared memory, and the parity of the phase
  int parity = 0;
  int id = 0, count = 0;               // at_named_barrier: number of the barrier, and of its threads
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
  Hopper& hopper() { return hopper_; }
  void suspend(Thread::State state);
  void wait_at_named_barrier();  // until as many threads wait at the barrier of the running thread
  void wake_waiting();           // the threads that wait for phases that have ended
  [[noreturn]] void fail(const std::string& problem);  // reports a problem of the running thread

 private:
  struct Warp {
    std::vector<Thread*> lanes, order;  // order: in which they run
    bool can_run = true;
  };

  void run_block();
  bool run_warp();  // a warp that can run, to its next operation; false if there is none
  void run_lanes(Warp& warp);
  bool finish_operation(Warp& warp);  // false if its lanes have not all called one
  void report_missing_lane(const Warp& warp);
  bool land_copy();     // false if none is pending
  bool open_barrier();  // of the block; false if a thread does not wait at it
  void report_deadlock();
  void wake(Thread& thread);
  void report_thread(const Thread& thread, const std::string& problem);
  static void run_thread();  // entry of the fibers

  const Launch& launch_;
  SharedMemory shared_;
  Hopper hopper_{shared_};
  std::map<int, Clock>
      named_barrier_clocks_[2];  // by the number of a barrier: what has happened before it opens, and opened
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  Thread* running_ = nullptr;
  bool failed_ = false;
};

}  // namespace cuda_emulation
