// Exceptions in OpenMP parallel regions. An exception that leaves a region would terminate the program, so each thread
// runs its work in guard(), and rethrow() throws the first exception after the region.
#pragma once

#include <exception>
#include <mutex>

namespace gyre {

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

}  // namespace gyre
