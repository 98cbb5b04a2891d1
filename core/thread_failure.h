// No exception may leave a parallel region of OpenMP: the program would end there. Threads work under guard(), and the
// one that called them throws afterwards.
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
  // After the region: throws the first exception of any thread.
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace gyre
