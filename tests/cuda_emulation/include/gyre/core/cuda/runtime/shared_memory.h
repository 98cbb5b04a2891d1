// The emulator's version of core/cuda/runtime/shared_memory.h, which the include path finds first.
#pragma once

#include "cuda_emulation/hooks.h"

namespace gyre::cuda {

template <class T>
T* shared_memory() {
  return reinterpret_cast<T*>(cuda_emulation::dynamic_shared_memory());
}

}  // namespace gyre::cuda
