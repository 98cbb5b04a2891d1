// Scopes with another number of threads, for tests.
#pragma once

#include "gyre/core/kernels/kernels.h"

namespace gyre {

// Sets the number of threads until the end of the scope.
class ThreadsInScope {
 public:
  explicit ThreadsInScope(int n) : before_(threads()) { set_threads(n); }
  ~ThreadsInScope() { set_threads(before_); }
  ThreadsInScope(const ThreadsInScope&) = delete;
  ThreadsInScope& operator=(const ThreadsInScope&) = delete;

 private:
  int before_;
};

// Until the end of the scope, kernels use all threads for small tensors too.
class SmallWorkInParallel {
 public:
  SmallWorkInParallel() { set_worth_a_thread(64); }
  ~SmallWorkInParallel() { set_worth_a_thread(kWorthAThread); }
  SmallWorkInParallel(const SmallWorkInParallel&) = delete;
  SmallWorkInParallel& operator=(const SmallWorkInParallel&) = delete;
};

}  // namespace gyre
