// A parallel loop over independent work, for code outside of the kernels.
#pragma once

#include <cstddef>

#include "gyre/core/thread_failure.h"

namespace gyre {

// Calls work(i) for each i in [0, count) with all threads, which take `chunk` numbers at a time. Afterwards throws the
// first exception of any call, if there was one.
template <class F>
void parallel_for(size_t count, size_t chunk, F&& work) {
  ThreadFailure failure;
#pragma omp parallel for schedule(dynamic, chunk)
  for (size_t i = 0; i < count; ++i) failure.guard([&] { work(i); });
  failure.rethrow();
}

}  // namespace gyre
