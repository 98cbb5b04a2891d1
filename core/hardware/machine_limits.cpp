#include "gyre/core/hardware/machine_limits.h"

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "gyre/core/clock.h"
#include "gyre/core/hardware/blas.h"

namespace gyre {
namespace {

// Sets the number of threads of OpenBLAS and OpenMP, and restores both in the destructor. set_blas_threads() sets both,
// and sgemm deadlocks if OpenMP then provides fewer threads, as OMP_THREAD_LIMIT and OMP_DYNAMIC can cause.
class ThreadsOfBoth {
 public:
  explicit ThreadsOfBoth(int threads) {
    omp_set_dynamic(false);
    set_blas_threads(std::min(threads, omp_get_thread_limit()));
  }
  ~ThreadsOfBoth() {
    set_blas_threads(blas_before_);
    omp_set_num_threads(omp_before_);
    omp_set_dynamic(dynamic_before_);
  }
  ThreadsOfBoth(const ThreadsOfBoth&) = delete;
  ThreadsOfBoth& operator=(const ThreadsOfBoth&) = delete;

 private:
  int blas_before_ = blas_threads(), omp_before_ = omp_get_max_threads();
  int dynamic_before_ = omp_get_dynamic();
};

// `amount` per second in the fastest of `runs` runs, after one warm-up run.
template <class F>
double best_rate(double amount, int runs, const F& run) {
  run();
  double best = 0;
  for (int i = 0; i < runs; ++i) {
    const Stopwatch watch;
    run();
    best = std::max(best, amount / watch.seconds());
  }
  return best;
}

double sgemm_rate(int m, int n, int k) {
  const auto matrix = [](int64_t rows, int64_t cols) {
    auto numbers = std::make_unique_for_overwrite<float[]>(size_t(rows * cols));
    std::fill_n(numbers.get(), rows * cols, 0.5f);
    return numbers;
  };
  const auto a = matrix(m, k), b = matrix(k, n), c = matrix(m, n);
  return best_rate(2.0 * m * n * k, 3, [&] {
    blas_gemm(m, n, k, BlasOperand<float>{a.get(), k}, {b.get(), n}, c.get(), n, false);
  });
}

// True if the limit of matrix products is the rate of an instruction, because OpenBLAS has no such product.
bool is_limited_by_instruction(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::int8 || !has_blas();
}

}  // namespace

std::string products_limit_source(Precision precision) {
  if (is_limited_by_instruction(precision)) return std::string(widest_multiply_add(precision).name) + " in registers";
  return "OpenBLAS sgemm, " + blas_kernels() + " kernels";
}

double measure_products(Precision precision, int threads) {
  if (is_limited_by_instruction(precision)) return measure_multiply_adds(precision, threads);
  const ThreadsOfBoth scope(threads);
  return std::max(sgemm_rate(2048, 2048, 2048), sgemm_rate(4096, 4096, 1024));
}

// An emulator takes a hundred times as long, so runs begin with few rounds.
double measure_multiply_adds(Precision precision, int threads, double seconds) {
  constexpr double kShortestRun = 1e-3;
  const MultiplyAdd instruction = widest_multiply_add(precision);
  const ThreadsOfBoth scope(threads);
  const auto run = [&](int64_t rounds) {
    const Stopwatch watch;
#pragma omp parallel num_threads(threads)
    instruction.repeat(rounds);
    return watch.seconds();
  };
  const Stopwatch watch;
  int64_t rounds = instruction.rounds / 64;
  run(rounds);  // starts the threads
  while (rounds < instruction.rounds && run(rounds) < kShortestRun) rounds *= 2;
  double shortest = run(rounds);
  while (watch.seconds() < seconds) shortest = std::min(shortest, run(rounds));
  return double(threads) * double(rounds) * MultiplyAdd::kSums * instruction.flops / shortest;
}

double measure_memory_bandwidth(int threads) {
  constexpr int64_t kNumbers = 1 << 23;  // 64 MiB per array
  const ThreadsOfBoth scope(threads);
  const auto array = [] { return std::make_unique_for_overwrite<double[]>(size_t(kNumbers)); };
  const auto a = array(), b = array(), c = array();
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < kNumbers; ++i) {  // first touch: allocates each page near the thread that uses it
    a[size_t(i)] = 0;
    b[size_t(i)] = 1;
    c[size_t(i)] = 2;
  }
  return best_rate(3.0 * sizeof(double) * kNumbers, 3, [&] {
    double *to = a.get(), *x = b.get(), *y = c.get();
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < kNumbers; ++i) to[i] = x[i] + 3.0 * y[i];
  });
}

}  // namespace gyre
