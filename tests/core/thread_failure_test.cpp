#include "core/thread_failure.h"

#include <doctest/doctest.h>

#include <atomic>

#include "core/error.h"

using namespace gyre;

TEST_CASE("thread failure: what threads throw is thrown after the region, and the others work on") {
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
