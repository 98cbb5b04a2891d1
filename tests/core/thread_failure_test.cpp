#include <doctest/doctest.h>

#include <atomic>

#include "gyre/core/error.h"
#include "gyre/core/parallel_for.h"

using namespace gyre;

TEST_CASE("thread failure: an exception of a thread is rethrown after the region, and other work continues") {
  ThreadFailure failure;
  std::atomic<int> done = 0;
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 100; ++i) {
    failure.guard([&] {
      if (i % 10 == 3) throw Error("no memory");
      ++done;
    });
  }
  CHECK(done == 90);
  CHECK_THROWS_WITH_AS(failure.rethrow(), "no memory", Error);
  CHECK_NOTHROW(ThreadFailure().rethrow());
}
