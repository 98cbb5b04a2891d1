// A parallel loop over independent work, for code outside of the kernels.
#pragma once

#include <cstddef>
#include <exception>
#include <mutex>

namespace gyre {

// Exceptions in OpenMP parallel regions. An exception that leaves a region would terminate the program, so each thread
// runs its work in guard(), and rethrow() throws the first exception after the region.
class ThreadFailure {
 public:
  template <class F>
  void guard(F&& work) noexcept {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!first_) first_ = std::current_exception();
    }
  }
  // Call after the region. Throws the first exception of any thread, if there was one.
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

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
