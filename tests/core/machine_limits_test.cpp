#include "core/machine_limits.h"

#include <doctest/doctest.h>

#include "tests/threads_in_scope.h"

using namespace gyre;

TEST_CASE("measured limits are rates, and leave the number of threads alone") {
  const ThreadsInScope three(3);
  CHECK(measure_products(Precision::fp32, 1) > 0);
  CHECK(measure_memory_bandwidth(2) > 0);
  if (cpu_kernels().has_bf16()) CHECK(measure_products(Precision::bf16, 1) > 0);
  CHECK(threads() == 3);
}
