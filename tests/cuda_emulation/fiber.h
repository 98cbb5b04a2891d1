// Fibers: functions that can be suspended and resumed, each on its own stack. One thread at a time may run fibers.
#pragma once

#include <cstddef>

namespace cuda_emulation {

class Fiber {
 public:
  // Runs `entry` on a free stack at the next resume(). `entry` must end with finish().
  void start(void (*entry)());
  void resume();          // runs the fiber until it suspends itself or finishes
  static void suspend();  // called by the fiber that runs
  [[noreturn]] static void finish();
  void drop();  // frees the stack of a fiber that will not be resumed

 private:
  std::byte* stack_ = nullptr;  // null before the first resume() and after finish()
  void* stack_pointer_ = nullptr;
  void* sanitizer_ = nullptr;  // AddressSanitizer's data about the suspended stack
  void (*entry_)() = nullptr;
};

}  // namespace cuda_emulation
