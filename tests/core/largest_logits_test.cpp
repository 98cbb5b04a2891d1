#include "tests/core/largest_logits.h"

#include "tests/emulated_bf16.h"
#include "tests/threads_in_scope.h"

namespace gyre::test {

TEST_CASE("the largest logits of attention are those of loops over all visible pairs") {
  const EmulatedBf16 emulated;
  for (Kernels* kernels : available_cpu_kernels()) {
    check_largest_logits(*kernels, DType::f64, 1e-10);
    check_largest_logits(*kernels, DType::f32, 1e-4);
    check_largest_logits(*kernels, DType::bf16, 1e-4);
  }
}

TEST_CASE("the largest logits of attention do not depend on the number of threads") {
  for (const LogitCase& c : logit_cases()) {
    CAPTURE(c.name);
    const LogitInputs in(c, DType::f32);
    std::vector<std::vector<double>> results;
    for (const int n : {1, 3}) {
      const ThreadsInScope scope(n);
      results.push_back(found_logits(cpu_kernels(), c, in, std::vector<double>(size_t(c.shape.heads), 0)));
    }
    CHECK(results[0] == results[1]);
  }
}

TEST_CASE("without segments, the largest logits stay") {
  LogitCase c = logit_cases()[0];
  c.queries = c.keys = {};
  const std::vector<double> before{1, -2, 3};
  CHECK(found_logits(cpu_kernels(), c, LogitInputs(c, DType::f32), before) == before);
}

}  // namespace gyre::test
