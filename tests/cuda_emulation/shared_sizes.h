// A list of the kernels that ran with their dynamic shared memory, for tools/scripts/check_kernels.sh.
#pragma once

#include "tests/cuda_emulation/block.h"

namespace cuda_emulation {

// Takes note of a launch. At the end of the process, a line for each kernel is added to the file that the environment
// variable GYRE_CUDA_EMULATION_SHARED names: the mangled name, the most bytes of dynamic shared memory of a launch, and
// the bytes that are allowed for static and dynamic shared memory together. Without the variable, nothing is written.
void note_shared_memory(const void* kernel, const Launch& launch);

}  // namespace cuda_emulation
