#include "gyre/core/hardware/machine_limits.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "gyre/core/kernels/unroll.h"
#include "tests/amx_in_scope.h"
#include "tests/report.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

namespace {

#ifdef __x86_64__

// Cycles per second, from a chain of dependent additions of one cycle each. The fastest of several runs.
double measured_clock() {
  constexpr int64_t kRounds = 1 << 17;
  double best = 0;
  for (int run = 0; run < 100; ++run) {
    uint64_t number = 1;
    const auto start = std::chrono::steady_clock::now();
    for (int64_t round = 0; round < kRounds; ++round) {
      GYRE_UNROLL
      for (int i = 0; i < 32; ++i) asm volatile("add %0, %0" : "+r"(number));
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::max(best, 32.0 * kRounds / taken.count());
  }
  return best;
}

#endif

}  // namespace

TEST_CASE("measured limits are positive, and the number of threads is restored") {
  const ThreadsInScope three(3);
  CHECK(measure_products(Precision::fp32, 1) > 0);
  CHECK(measure_memory_bandwidth(2) > 0);
  if (cpu_kernels().has_bf16()) CHECK(measure_products(Precision::bf16, 1) > 0);
  CHECK(threads() == 3);
}

#ifdef __x86_64__
// An x86-64 CPU has one or two arithmetic units for its widest vectors: with AVX-512, 32 or 64 FLOP of fp32 per cycle,
// and half to twice the rate of fp32 for bf16. On a busy machine each measurement is too low, so the test compares the
// best of several tries and stops when they agree.
TEST_CASE("rates of multiply-adds agree with the clock and the width of the units") {
  if (!__builtin_cpu_supports("fma")) return report_skipped("this CPU has no fused multiply-add");
  constexpr double kNoise = 1.2;
  const double widest = __builtin_cpu_supports("avx512f") ? 64 : 32;
  const bool has_bf16 = cpu_kernels().has_bf16();
  const AmxInScope without_amx(false);
  double clock = 0, fp32 = 0, bf16 = 0;
  const auto is_between = [](double low, double x, double high) { return low / kNoise <= x && x <= high * kNoise; };
  const auto agree = [&] {
    return is_between(widest / 2 * clock, fp32, widest * clock) && (!has_bf16 || is_between(fp32 / 2, bf16, 2 * fp32));
  };
  for (int tries = 0; tries == 0 || (tries < 10 && !agree()); ++tries) {
    clock = std::max(clock, measured_clock());
    fp32 = std::max(fp32, measure_multiply_adds(Precision::fp32, 1));
    if (has_bf16) bf16 = std::max(bf16, measure_multiply_adds(Precision::bf16, 1));
  }
  CAPTURE(clock);
  CAPTURE(fp32);
  CAPTURE(bf16);
  CHECK(agree());
  if (!has_bf16) report_skipped("bf16: this CPU has no AVX512-BF16");
}
#else
TEST_CASE("rates of multiply-adds agree with the clock and the width of the units") {
  report_skipped("the number of units is known for x86-64 only");
}
#endif
