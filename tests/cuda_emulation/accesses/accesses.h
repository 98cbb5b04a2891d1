// Accesses of kernels to memory. The kernels are compiled with -fsanitize=thread, which precedes every access with a
// call of a function __tsan_*. These functions are those of the emulator (sanitizers.cpp), not of ThreadSanitizer.
#pragma once

#include <cstddef>

namespace cuda_emulation {

// Numbers of different bytes of device memory.
struct AccessedBytes {
  size_t read = 0, written = 0;
};

// Brackets a launch. Without `counted` the accesses are only checked, which is faster, and the numbers are 0.
void begin_accesses(bool counted);
AccessedBytes end_accesses();

// Called before each access of a kernel, at the address `place` in the program. An access to addresses of device memory
// that are not allocated ends the launch with a report. Other addresses are checked for races (shared_races.h), and by
// AddressSanitizer in builds that use it. Calls between launches have no effect.
void note_read(const void* data, size_t bytes, const void* place);
void note_write(const void* data, size_t bytes, const void* place);

}  // namespace cuda_emulation
